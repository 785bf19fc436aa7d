import type { Schemas } from "../api/client";
import { Field, NumberField } from "./fields";
import { FAULTS, newAsk, partsOf, type Ask, type Fault, type FaultKind, type RunForm } from "./form";

/** A day is longer than any run that is worth looking at. */
const LATEST_MS = 86_400_000;

interface RowsProps {
  form: RunForm;
  change: (part: Partial<RunForm>) => void;
}

/** Who is asked for what, and when. */
export function AskRows({ algorithm, form, change }: RowsProps & { algorithm: Schemas["Algorithm"] }) {
  const [verb] = algorithm.verbs;
  if (verb === undefined) return null;
  const set = (index: number, ask: Ask) => change({ asks: form.asks.with(index, ask) });
  return (
    <fieldset>
      <legend>Requests</legend>
      {form.asks.map((ask, index) => (
        <div class="row" key={index} role="group" aria-label={`Request ${index + 1}`}>
          <Field label="Request">
            <select
              value={ask.verb}
              onChange={(event) => set(index, newAsk(event.currentTarget.value, ask.who, ask.atMs))}
            >
              {algorithm.verbs.map((known) => (
                <option key={known} value={known}>
                  {known.split(":")[0]}
                </option>
              ))}
            </select>
          </Field>
          {partsOf(ask.verb).map((part, k) => (
            <Field key={k} label={part.toLowerCase()}>
              <input
                size={5}
                value={ask.parts[k] ?? ""}
                onInput={(event) => set(index, { ...ask, parts: ask.parts.with(k, event.currentTarget.value) })}
              />
            </Field>
          ))}
          <Field label="Process">
            <input
              size={5}
              value={ask.who}
              onInput={(event) => set(index, { ...ask, who: event.currentTarget.value })}
            />
          </Field>
          <NumberField
            label="At, ms"
            value={ask.atMs}
            min={0}
            max={LATEST_MS}
            step="any"
            set={(atMs) => set(index, { ...ask, atMs })}
          />
          <Remove what={`request ${index + 1}`} remove={() => change({ asks: form.asks.toSpliced(index, 1) })} />
        </div>
      ))}
      <button type="button" onClick={() => change({ asks: [...form.asks, newAsk(verb, "1", 0)] })}>
        Add a request
      </button>
    </fieldset>
  );
}

/** What befalls whom, and when. */
export function FaultRows({ form, change }: RowsProps) {
  const set = (index: number, fault: Fault) => change({ faults: form.faults.with(index, fault) });
  const kinds = Object.keys(FAULTS) as FaultKind[];
  return (
    <fieldset>
      <legend>Faults</legend>
      {form.faults.map((fault, index) => (
        <div class="row" key={index} role="group" aria-label={`Fault ${index + 1}`}>
          <Field label="Fault">
            <select
              value={fault.kind}
              onChange={(event) => {
                const kind = event.currentTarget.value as FaultKind;
                set(index, { ...fault, kind, what: FAULTS[kind].example(form.nodes) });
              }}
            >
              {kinds.map((kind) => (
                <option key={kind} value={kind}>
                  {FAULTS[kind].label}
                </option>
              ))}
            </select>
          </Field>
          {FAULTS[fault.kind].about && (
            <Field label={FAULTS[fault.kind].about}>
              <input
                size={10}
                value={fault.what}
                onInput={(event) => set(index, { ...fault, what: event.currentTarget.value })}
              />
            </Field>
          )}
          <NumberField
            label="At, ms"
            value={fault.atMs}
            min={0}
            max={LATEST_MS}
            step="any"
            set={(atMs) => set(index, { ...fault, atMs })}
          />
          <Remove what={`fault ${index + 1}`} remove={() => change({ faults: form.faults.toSpliced(index, 1) })} />
        </div>
      ))}
      <button type="button" onClick={() => change({ faults: [...form.faults, nextFault(form)] })}>
        Add a fault
      </button>
    </fieldset>
  );
}

/** A crash, or what may come after the last one: a crashed process recovers, a cut is healed. */
function nextFault({ faults, nodes }: RunForm): Fault {
  const last = faults.at(-1);
  const after: Partial<Record<FaultKind, FaultKind>> = {
    crash: "recover",
    pause: "resume",
    partition: "heal",
    cut: "heal",
  };
  const kind = (last && after[last.kind]) ?? "crash";
  const what = last && (kind === "recover" || kind === "resume") ? last.what : FAULTS[kind].example(nodes);
  return { kind, what, atMs: (last?.atMs ?? 0) + (last ? 200 : 0) };
}

function Remove({ what, remove }: { what: string; remove: () => void }) {
  return (
    <button type="button" class="quiet remove" aria-label={`Remove ${what}`} title={`Remove ${what}`} onClick={remove}>
      <span aria-hidden="true">✕</span>
    </button>
  );
}
