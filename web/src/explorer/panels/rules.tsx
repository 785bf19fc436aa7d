import type { Schemas } from "../../api/client";
import { processName } from "../../run/words";
import type { Stage } from "../stage";
import { useTrailing } from "../trail";

/** The algorithm's rules; those that were just applied are marked. */
export function Rules({ stage, rules }: { stage: Stage; rules: readonly Schemas["Rule"][] }) {
  const { node, rules: now } = useTrailing(stage).fired;
  return (
    <section class="panel rules" aria-labelledby="rules-title">
      <h2 id="rules-title">Rules</h2>
      <ol>
        {rules.map((rule) => {
          const isNow = now.includes(rule.id);
          return (
            <li key={`${rule.part ?? ""} ${rule.id}`} class={isNow ? "fired" : ""} aria-current={isNow ? "step" : undefined}>
              <b>{rule.id}</b>
              <span>
                {rule.part && <em>{rule.part}: </em>}
                {rule.text}
                {isNow && <mark> {node === null ? "" : processName(node)} now</mark>}
              </span>
            </li>
          );
        })}
      </ol>
    </section>
  );
}
