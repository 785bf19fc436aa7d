import { recordedAt, sumOf } from "../../run/cuts";
import type { Item } from "../../run/view";
import { processName } from "../../run/words";
import type { Stage } from "../stage";
import { useTrailing } from "../trail";

/** Many snapshots are not read one by one. */
const SHOWN = 3;

/** What each snapshot has recorded so far: at the processes, on the way, and in all. */
export function Cuts({ stage }: { stage: Stage }) {
  const step = stage.seen(useTrailing(stage));
  const { cuts, header } = stage.model;
  const begun = cuts.filter(({ at }) => [...at.values()].some((since) => since < step.happened));
  if (begun.length === 0) return null;
  return (
    <section class="panel cuts" aria-labelledby="cuts-title">
      <h2 id="cuts-title" class="visually-hidden">Recorded</h2>
      {begun.slice(-SHOWN).map((cut) => {
        const parts = header.nodes.map((node) => ({ node, items: recordedAt(cut, node, step.happened) }));
        const here = parts.flatMap(({ items }) => items?.filter(isHere) ?? []);
        const moving = parts.flatMap(({ items }) => items?.filter((item) => !isHere(item)) ?? []);
        const [held, carried] = [sumOf(here), sumOf(moving)];
        const missing = parts.filter(({ items }) => items === null).length;
        return (
          <table key={cut.name}>
            <caption>{cut.name}</caption>
            <tbody>
              <tr>
                {parts.map(({ node, items }) => (
                  <td key={node} class={items === null ? "tone-faint" : ""}>
                    <b>{processName(node)}</b>{" "}
                    {items === null ? "not yet" : items.filter(isHere).map(({ text, note }) => note || text).join(", ")}
                  </td>
                ))}
                <td><b>on the way</b> {moving.length === 0 ? "nothing" : moving.map(({ text }) => text).join(", ")}</td>
                {held !== null && carried !== null && (
                  <td class="sum"><b>sum</b> {missing > 0 ? `${held + carried} so far` : `${held} + ${carried} = ${held + carried}`}</td>
                )}
              </tr>
            </tbody>
          </table>
        );
      })}
    </section>
  );
}

const isHere = ({ tone }: Item) => tone === "strong";
