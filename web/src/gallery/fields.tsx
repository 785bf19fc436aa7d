import type { ComponentChildren } from "preact";
import type { Schemas } from "../api/client";
import type { Latency, RunForm } from "./form";

interface FieldsProps {
  algorithm: Schemas["Algorithm"];
  limits: Schemas["Limits"];
  form: RunForm;
  change: (part: Partial<RunForm>) => void;
}

/** Which algorithm, by family. */
export function AlgorithmChoice(props: {
  catalogue: Schemas["Catalogue"];
  algorithm: Schemas["Algorithm"];
  choose: (name: string) => void;
}) {
  const { catalogue, algorithm, choose } = props;
  const firstOf = (family: string) =>
    catalogue.algorithms.find((known) => known.family === family)?.name ?? algorithm.name;
  return (
    <fieldset>
      <legend>Algorithm</legend>
      <Field label="Family">
        <select value={algorithm.family} onChange={(event) => choose(firstOf(event.currentTarget.value))}>
          {catalogue.families.map(({ name, title }) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </select>
      </Field>
      <Field label="Algorithm">
        <select value={algorithm.name} onChange={(event) => choose(event.currentTarget.value)}>
          {catalogue.algorithms
            .filter(({ family }) => family === algorithm.family)
            .map(({ name, title }) => (
              <option key={name} value={name}>
                {title}
              </option>
            ))}
        </select>
      </Field>
      <p class="soft about">
        {algorithm.about} It assumes: {algorithm.assumes.join(", ")}.
      </p>
    </fieldset>
  );
}

/** Processes, network, and what only some algorithms have. */
export function Fields({ algorithm, limits, form, change }: FieldsProps) {
  return (
    <>
      <fieldset>
        <legend>Processes</legend>
        <NumberField
          label="How many"
          value={form.nodes}
          min={1}
          max={limits.nodes}
          disabled={algorithm.nodes != null || form.ids.trim() !== ""}
          set={(nodes) => change({ nodes })}
        />
        <Field label={algorithm.topology === "ring" ? "Or ids, in ring order" : "Or your own ids"}>
          <input
            value={form.ids}
            placeholder="3,5,0,1"
            onInput={(event) => change({ ids: event.currentTarget.value })}
          />
        </Field>
        <Field label="Initial coordinator">
          <select
            value={form.coordinator}
            onChange={(event) => change({ coordinator: event.currentTarget.value as RunForm["coordinator"] })}
          >
            <option value="largest">the largest</option>
            <option value="none">none</option>
          </select>
        </Field>
        <Check
          label="Processes watch each other (failure detection)"
          value={form.detection}
          set={(detection) => change({ detection })}
        />
      </fieldset>
      <fieldset>
        <legend>Network and time</legend>
        <LatencyFields latency={form.latency} set={(latency) => change({ latency })} />
        <NumberField
          label="Loss, 0 to 1"
          value={form.loss}
          min={0}
          max={1}
          step={0.05}
          set={(loss) => change({ loss })}
        />
        <Check label="Messages may overtake each other (no FIFO)" value={form.reorder} set={(reorder) => change({ reorder })} />
        <OptionalMs
          label="Time-out T, ms"
          empty="3 × latency"
          value={form.timeoutMs}
          set={(timeoutMs) => change({ timeoutMs })}
        />
        <OptionalMs label="Run for, ms" empty="until it ends" value={form.forMs} set={(forMs) => change({ forMs })} />
        <NumberField
          label="Seed"
          value={form.seed}
          min={0}
          max={Number.MAX_SAFE_INTEGER}
          set={(seed) => change({ seed })}
        />
      </fieldset>
      <OwnSettings algorithm={algorithm} form={form} change={change} />
    </>
  );
}

function OwnSettings({ algorithm, form, change }: Omit<FieldsProps, "limits">) {
  const isTree = algorithm.topology === "tree";
  if (!algorithm.has_section && !isTree && algorithm.options.length === 0) return null;
  const option = (name: string, value: string | boolean) => change({ options: { ...form.options, [name]: value } });
  return (
    <fieldset>
      <legend>{algorithm.title}</legend>
      {algorithm.has_section && (
        <>
          <OptionalMs
            label="In the section, ms"
            empty="T"
            value={form.sectionMs}
            set={(sectionMs) => change({ sectionMs })}
          />
          <Check
            label="As in the paper, without recovery from crashes"
            value={form.textbook}
            set={(textbook) => change({ textbook })}
          />
        </>
      )}
      {isTree && (
        <Field label="Tree">
          <select value={form.tree} onChange={(event) => change({ tree: event.currentTarget.value })}>
            {["binary", "line", "star", "3"].map((shape) => (
              <option key={shape}>{shape}</option>
            ))}
          </select>
        </Field>
      )}
      {algorithm.options.map(({ name, value, help }) =>
        value == null ? (
          <Check
            key={name}
            label={name}
            help={help}
            value={form.options[name] === true}
            set={(given) => option(name, given)}
          />
        ) : (
          <Field key={name} label={name} help={help}>
            <input
              placeholder={value}
              value={String(form.options[name] ?? "")}
              onInput={(event) => option(name, event.currentTarget.value)}
            />
          </Field>
        ),
      )}
    </fieldset>
  );
}

function LatencyFields({ latency, set }: { latency: Latency; set: (latency: Latency) => void }) {
  return (
    <>
      <Field label="Latency">
        <select
          value={latency.kind}
          onChange={(event) => set({ ...latency, kind: event.currentTarget.value as Latency["kind"] })}
        >
          <option value="fixed">fixed</option>
          <option value="range">from … to</option>
          <option value="exp">exponential</option>
        </select>
      </Field>
      <NumberField
        label={latency.kind === "range" ? "From, ms" : latency.kind === "exp" ? "Mean, ms" : "Latency, ms"}
        value={latency.ms}
        min={0}
        max={3_600_000}
        step="any"
        set={(ms) => set({ ...latency, ms })}
      />
      {latency.kind === "range" && (
        <NumberField
          label="To, ms"
          value={latency.toMs}
          min={latency.ms}
          max={3_600_000}
          step="any"
          set={(toMs) => set({ ...latency, toMs })}
        />
      )}
    </>
  );
}

/** A label and what it is the label of. */
export function Field(props: { label: string; help?: string; children: ComponentChildren }) {
  return (
    <label class="field">
      <span>{props.label}</span>
      {props.children}
      {props.help && <small>{props.help}</small>}
    </label>
  );
}

function Check(props: { label: string; help?: string; value: boolean; set: (value: boolean) => void }) {
  return (
    <label class="field check">
      <input type="checkbox" checked={props.value} onChange={(event) => props.set(event.currentTarget.checked)} />
      <span>{props.label}</span>
      {props.help && <small>{props.help}</small>}
    </label>
  );
}

interface NumberProps {
  label: string;
  value: number;
  min: number;
  max: number;
  step?: number | "any";
  disabled?: boolean;
  set: (value: number) => void;
}

/** A number; what is no number in its range is not taken over. */
export function NumberField({ label, value, min, max, step = 1, disabled = false, set }: NumberProps) {
  return (
    <Field label={label}>
      <input
        type="number"
        value={value}
        min={min}
        max={max}
        step={step}
        disabled={disabled}
        onInput={(event) => {
          const { valueAsNumber, validity } = event.currentTarget;
          if (validity.valid && Number.isFinite(valueAsNumber)) set(valueAsNumber);
        }}
      />
    </Field>
  );
}

function OptionalMs(props: {
  label: string;
  empty: string;
  value: number | null;
  set: (value: number | null) => void;
}) {
  return (
    <Field label={props.label}>
      <input
        type="number"
        min={0}
        step="any"
        value={props.value ?? ""}
        placeholder={props.empty}
        onInput={(event) => {
          const { value, valueAsNumber, validity } = event.currentTarget;
          if (validity.valid) props.set(value === "" ? null : valueAsNumber);
        }}
      />
    </Field>
  );
}
