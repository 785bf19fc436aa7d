import { useMemo, useRef } from "preact/hooks";
import { costsOf, type Cost } from "../../run/costs";
import type { Model } from "../../run/model";
import { colourNumbers, kindInk } from "../diagram/colours";
import { palette } from "../diagram/palette";
import type { Stage } from "../stage";
import { useTrailing } from "../trail";

/** How many messages were sent up to now, beside what the textbook says. */
export function Counters({ stage, hideFuture }: { stage: Stage; hideFuture: boolean }) {
  const panel = useRef<HTMLElement>(null);
  const { model } = stage;
  const { kinds } = model.flights;
  const counts = useTrailing(stage, panel).counts;
  const colours = colourNumbers(kinds);
  const counted = (numbers: (kind: number) => number) =>
    kinds.reduce((sum, { role }, kind) => sum + (role === "overhead" ? 0 : numbers(kind)), 0);
  const total = { now: counted((kind) => counts[kind]!), end: counted((kind) => kinds[kind]!.sends.length) };
  return (
    <section ref={panel} class="panel counters" aria-labelledby="counters-title">
      <h2 id="counters-title">Messages</h2>
      {kinds.length === 0 ? <p>No message was sent.</p> : (
        <table>
          <thead>
            <tr><th scope="col">Kind</th><th scope="col">so far</th>{!hideFuture && <th scope="col">in the end</th>}</tr>
          </thead>
          <tbody>
            {kinds.map(({ name, role, sends }, kind) => (
              <tr key={`${role} ${name}`} class={role}>
                <th scope="row">
                  <i class="swatch" style={{ background: kindInk(palette.value, colours[kind]!).line }} />
                  {name} {role !== "protocol" && <small>{role}</small>}
                </th>
                <td>{counts[kind]}</td>
                {!hideFuture && <td>{sends.length}</td>}
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr><th scope="row">All except overhead</th><td>{total.now}</td>{!hideFuture && <td>{total.end}</td>}</tr>
          </tfoot>
        </table>
      )}
      {!hideFuture && <Formulas model={model} />}
    </section>
  );
}

/** What the sources say that this run costs: only what fits it, kind by kind. The other cases are folded away. */
function Formulas({ model }: { model: Model }) {
  const { entries, fits, others } = useMemo(() => costsOf(model), [model]);
  if (fits.length + others.length === 0) return null;
  return (
    <>
      <h3>The textbook’s formulas, for n = {model.header.nodes.length}</h3>
      {fits.length === 0 && <p>None of them is for a run like this one.</p>}
      {fits.length > 0 && (
        <table class="formulas">
          <thead>
            <tr>
              <th scope="col">If</th>
              <th scope="col">{entries === null ? "messages" : "messages per entry"}</th>
              <th scope="col">here</th>
            </tr>
          </thead>
          <tbody>
            {fits.flatMap(({ cost, sent, parts }) => [
              <tr key={cost.case}>
                <th scope="row">{cost.case}</th>
                <td>{wordsOf(cost)}</td>
                <td class="agrees">{sent} ✓</td>
              </tr>,
              ...(parts.length < 2 ? [] : parts).map(({ kinds, formula, expected, sent }) => (
                <tr key={`${cost.case} ${kinds.join()}`} class="part">
                  <th scope="row">{kinds.join(" + ")}</th>
                  <td><var>{pretty(formula)}</var> = {expected}</td>
                  <td>{sent} ✓</td>
                </tr>
              )),
            ])}
          </tbody>
        </table>
      )}
      {entries !== null && fits.length > 0 && <p>This run has {entries} {entries === 1 ? "entry" : "entries"}.</p>}
      {others.length > 0 && (
        <details>
          <summary>Formulas for other situations ({others.length})</summary>
          <table class="formulas">
            <tbody>
              {others.map((cost) => (
                <tr key={cost.case}><th scope="row">{cost.case}</th><td>{wordsOf(cost)}</td></tr>
              ))}
            </tbody>
          </table>
        </details>
      )}
    </>
  );
}

const JUDGED: Record<string, string> = { exact: "exactly", "at-most": "at most", mean: "on average" };

function wordsOf({ judged, formula, value }: Cost) {
  return <>{JUDGED[judged] ?? judged} <var>{pretty(formula)}</var> = {value}</>;
}

/** `n^2-n-1` as `n² − n − 1`. */
function pretty(formula: string): string {
  return formula
    .replace(/\^(\d)/g, (_, digit: string) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]!)
    .replace(/\s*([-+])\s*/g, (_, sign: string) => ` ${sign === "-" ? "−" : "+"} `);
}
