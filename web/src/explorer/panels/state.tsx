import { useRef } from "preact/hooks";
import type { Step } from "../../run/step";
import { processName } from "../../run/words";
import type { Stage } from "../stage";
import { useTrailing } from "../trail";
import { standing } from "../topology/node";
import { freshRows, MARKS, type View } from "../../run/view";
import { ViewRow } from "../views/rows";
import "../views/views.css";

/** With more processes than this, only some of them are shown: the chosen one and those that act. */
const ALL_MAX = 10;
const SOME = 4;

/** What every process knows, with what just changed. */
export function State({ stage }: { stage: Stage }) {
  const panel = useRef<HTMLElement>(null);
  const { nodes } = stage.model.header;
  const step = stage.seen(useTrailing(stage, panel));
  const few = nodes.length <= ALL_MAX;
  const hasViews = Object.keys(stage.model.header.views ?? {}).length > 0;
  return (
    <section ref={panel} class="panel state" aria-labelledby="state-title">
      <header>
        <h2 id="state-title">Processes</h2>
        {hasViews && (
          <label class="all-fields">
            <input type="checkbox" checked={stage.raw.value} onChange={() => (stage.raw.value = !stage.raw.value)} /> all fields
          </label>
        )}
        {!few && <Chooser stage={stage} />}
      </header>
      {few ? (
        <div class="cards">{nodes.map((node) => <Card key={node} stage={stage} node={node} step={step} />)}</div>
      ) : (
        <Some stage={stage} step={step} />
      )}
    </section>
  );
}

function Chooser({ stage }: { stage: Stage }) {
  return (
    <label>
      Show{" "}
      <select
        value={String(stage.node.value ?? "")}
        onChange={({ currentTarget: { value } }) => (stage.node.value = value === "" ? null : Number(value))}
      >
        <option value="">latest to act</option>
        {stage.model.header.nodes.map((node) => (
          <option key={node} value={String(node)}>{processName(node)}</option>
        ))}
      </select>
    </label>
  );
}

/** The chosen process, and those that did something last. */
function Some({ stage, step }: { stage: Stage; step: Step }) {
  const chosen = stage.node.value === null ? [] : [stage.node.value];
  const shown = new Set([...chosen, ...step.actors(SOME - chosen.length)]);
  if (shown.size === 0) return <p>Nothing has happened yet.</p>;
  return (
    <div class="cards">
      {[...shown].map((node, place) => <Card key={place} stage={stage} node={node} step={step} />)}
    </div>
  );
}

function Card({ stage, node, step }: { stage: Stage; node: number; step: Step }) {
  const life = step.process(node);
  const isNew = life.since >= 0 && life.since >= step.began;
  const fields = Object.entries(life.fields);
  const gone = isNew ? life.changed.filter((name) => !(name in life.fields)) : [];
  const { view } = life;
  // Whom a process follows is worth a word where there is nothing better to see of it.
  const isBare = !view?.rows?.length || life.coordinator === node;
  const words = [view?.phase && life.up && !life.paused ? "" : standing(life), isBare ? follows(node, life) : ""];
  const all = fields.length + gone.length > 0 && (
    <dl>
      {fields.map(([name, value]) => (
        <Field key={name} name={name} value={value} changed={isNew && life.changed.includes(name)} />
      ))}
      {gone.map((name) => <Field key={name} name={name} value="removed" changed />)}
    </dl>
  );
  return (
    <article class={`card${life.up ? "" : " down"}${stage.node.value === node ? " chosen" : ""}`}>
      <h3>
        {processName(node)} <small>{words.filter(Boolean).join(", ")}</small>
        {view?.marks && (
          <span class="marks">{view.marks.map((mark) => <span key={mark} class={`mark-${mark}`}>{MARKS[mark]}</span>)}</span>
        )}
      </h3>
      {view && <Viewed view={view} fresh={isNew ? freshRows(life.before, view) : NONE} />}
      {view && all && stage.raw.value ? <div class="raw">{all}</div> : !view && all}
    </article>
  );
}

const NONE: ReadonlySet<string> = new Set();

/** What the algorithm says that is worth seeing. */
function Viewed({ view, fresh }: { view: View; fresh: ReadonlySet<string> }) {
  return (
    <>
      {view.phase && !view.marks?.some((mark) => MARKS[mark] === view.phase) && <p class="phase">{view.phase}</p>}
      {view.rows && (
        <dl class="view">
          {view.rows.map((row) => <ViewRow key={row.label} row={row} fresh={fresh.has(row.label)} />)}
        </dl>
      )}
    </>
  );
}

function follows(node: number, { up, coordinator }: { up: boolean; coordinator: number | null }): string {
  if (!up || coordinator === null) return "";
  return coordinator === node ? "coordinator" : `follows ${processName(coordinator)}`;
}

function Field({ name, value, changed }: { name: string; value: string; changed: boolean }) {
  return (
    <div class={changed ? "changed" : ""}>
      <dt>{name}</dt>
      <dd>
        {value}
        {changed && <span class="visually-hidden"> (just changed)</span>}
      </dd>
    </div>
  );
}
