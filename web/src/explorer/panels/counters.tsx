import type { Schemas } from "../../api/client";
import { colourNumbers, kindInk } from "../diagram/colours";
import { palette } from "../diagram/palette";
import type { Stage } from "../stage";
import { useTrailing } from "../trail";

/** How many messages were sent up to now, beside what the textbook says. */
export function Counters({ stage, hideFuture }: { stage: Stage; hideFuture: boolean }) {
  const { model } = stage;
  const { kinds } = model.flights;
  const counts = useTrailing(stage).counts;
  const colours = colourNumbers(kinds);
  const counted = (numbers: (kind: number) => number) =>
    kinds.reduce((sum, { role }, kind) => sum + (role === "overhead" ? 0 : numbers(kind)), 0);
  const total = { now: counted((kind) => counts[kind]!), end: counted((kind) => kinds[kind]!.sends.length) };
  return (
    <section class="panel counters" aria-labelledby="counters-title">
      <h2 id="counters-title">Messages</h2>
      {kinds.length === 0 ? <p>None was sent.</p> : (
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
            <tr><th scope="row">All but overhead</th><td>{total.now}</td>{!hideFuture && <td>{total.end}</td>}</tr>
          </tfoot>
        </table>
      )}
      {!hideFuture && <Formulas costs={model.outcome?.costs ?? []} total={total.end} stage={stage} />}
    </section>
  );
}

const JUDGED: Record<string, string> = { exact: "exactly", "at-most": "at most", mean: "on average" };

function Formulas({ costs, total, stage }: { costs: readonly Schemas["Cost"][]; total: number; stage: Stage }) {
  if (costs.length === 0) return null;
  const n = stage.model.header.nodes.length;
  const sent = (names: readonly string[]) =>
    stage.model.flights.kinds.reduce((sum, kind) => sum + (names.includes(kind.name) ? kind.sends.length : 0), 0);
  return (
    <>
      <h3>The textbook, for n = {n}</h3>
      <table class="formulas">
        <thead>
          <tr><th scope="col">If</th><th scope="col">messages</th><th scope="col">here</th></tr>
        </thead>
        <tbody>
          {costs.flatMap((cost) => [
            <tr key={cost.case}>
              <th scope="row">{cost.case}</th>
              <td>{JUDGED[cost.judged] ?? cost.judged} <var>{pretty(cost.formula)}</var> = {cost.value}</td>
              <td class={agrees(cost, total) ? "agrees" : ""}>{total}{agrees(cost, total) ? " ✓" : ""}</td>
            </tr>,
            ...cost.kinds.map(({ kinds, formula, value }) => (
              <tr key={`${cost.case} ${kinds.join()}`} class="part">
                <th scope="row">{kinds.join(" + ")}</th>
                <td><var>{pretty(formula)}</var> = {value}</td>
                <td>{sent(kinds)}</td>
              </tr>
            )),
          ])}
        </tbody>
      </table>
    </>
  );
}

const agrees = ({ judged, value }: Schemas["Cost"], total: number) =>
  judged === "at-most" ? total <= value : judged === "exact" && total === value;

/** `n^2-n-1` as `n² − n − 1`. */
function pretty(formula: string): string {
  return formula
    .replace(/\^(\d)/g, (_, digit: string) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]!)
    .replace(/\s*([-+])\s*/g, (_, sign: string) => ` ${sign === "-" ? "−" : "+"} `);
}
