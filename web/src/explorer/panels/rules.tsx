import { useComputed } from "@preact/signals";
import type { Schemas } from "../../api/client";
import { firedAt } from "../../run/steps";
import { processName } from "../../run/words";
import type { Stage } from "../stage";

/** The algorithm's rules; those that were just applied are marked. */
export function Rules({ stage, rules }: { stage: Stage; rules: readonly Schemas["Rule"][] }) {
  const { events } = stage.model;
  // As text, so that nothing is drawn anew while the same rules fire.
  const fired = useComputed(() => {
    const { node, rules: now } = firedAt(events, stage.step.value);
    return `${node ?? ""} ${now.join(" ")}`;
  }).value;
  const [node = "", ...now] = fired.split(" ");
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
                {isNow && <mark> {processName(Number(node))} now</mark>}
              </span>
            </li>
          );
        })}
      </ol>
    </section>
  );
}
