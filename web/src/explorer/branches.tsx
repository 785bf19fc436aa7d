import { coordinatorsOf, messagesOf, verdictOf } from "../run/branches";
import type { Model } from "../run/model";
import { inMs } from "../run/words";
import { Edges } from "./views/graph";
import type { Session } from "./session";
import type { Stage } from "./stage";

const SIGNS = { good: "✓", bad: "✗", open: "–" } as const;

/** The runs side by side: which is shown, where each came from, and what came of it. */
export function Branches({ session }: { session: Session }) {
  const runs = session.runs.value;
  if (runs.length < 2) return null;
  return (
    <section class="branches" aria-labelledby="branches-title">
      <h2 id="branches-title" class="visually-hidden">Runs</h2>
      <table>
        <thead>
          <tr>
            <th scope="col">Run</th>
            <th scope="col">Coordinator</th>
            <th scope="col">Messages</th>
            <th scope="col">Ends at</th>
            <th scope="col">In the end</th>
          </tr>
        </thead>
        <tbody>
          {runs.map(({ label, stage, step, problem }, index) => (
            <tr key={index} class={index === session.shown.value ? "shown" : ""}>
              <th scope="row" style={{ paddingLeft: `${8 + 18 * depthOf(session, index)}px` }}>
                {step && <span aria-hidden="true">↳ </span>}
                <button
                  type="button"
                  aria-pressed={index === session.shown.value}
                  disabled={stage === null}
                  onClick={() => session.show(index)}
                >
                  {label}
                </button>
              </th>
              {stage ? <Facts model={stage.model} /> : <td colSpan={4}>{problem}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Facts({ model }: { model: Model }) {
  const verdict = verdictOf(model);
  return (
    <>
      <td>{coordinatorsOf(model) ?? "–"}</td>
      <td>{messagesOf(model)}</td>
      <td>{inMs(model.outcome?.us ?? model.events.at(-1)?.us ?? 0)}</td>
      <td class={verdict.is}>
        <span aria-hidden="true">{SIGNS[verdict.is]} </span>
        {verdict.text}
      </td>
    </>
  );
}

function depthOf(session: Session, index: number): number {
  const { step } = session.runs.value[index]!;
  return step ? 1 + depthOf(session, step.parent) : 0;
}

/** What came of the run that is shown, in a line. A viewer who has not seen the end is told only on request. */
export function Outcome({ stage }: { stage: Stage }) {
  const { model } = stage;
  const onGo = (step: number) => stage.goTo(step);
  if (!stage.ended.value && model.outcome) {
    return (
      <p class="outcome unseen">
        <button type="button" class="quiet" onClick={() => (stage.ended.value = true)}>Show how it ends</button>
      </p>
    );
  }
  const verdict = verdictOf(model);
  const facts = model.outcome?.facts ?? [];
  return (
    <div class={`outcome ${verdict.is}`}>
      <p>
        <b>{verdict.is === "good" ? "✓ In the end" : verdict.is === "bad" ? "✗ In the end" : "In the end"}:</b> {verdict.text}
        {model.outcome?.violation && (
          <button type="button" class="quiet" onClick={() => onGo(model.last)}>Show where</button>
        )}
      </p>
      {(model.outcome?.graphs ?? []).length > 0 && (
        <div class="graphs">
          {model.outcome!.graphs!.map(({ title, items }) => (
            <figure key={title}><figcaption>{title}</figcaption><Edges edges={items} /></figure>
          ))}
        </div>
      )}
      {facts.length > 0 && (
        <details>
          <summary>More about this run</summary>
          <dl>{facts.map(({ name, text }) => [<dt key={name}>{name}</dt>, <dd key={`${name}.`}>{text}</dd>])}</dl>
        </details>
      )}
    </div>
  );
}
