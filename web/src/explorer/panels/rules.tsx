import { useMemo, useRef } from "preact/hooks";
import type { Schemas } from "../../api/client";
import { processName } from "../../run/words";
import type { Stage } from "../stage";
import { useTrailing } from "../trail";

/** The algorithm's rules; those that were just applied are marked. */
export function Rules({ stage, rules }: { stage: Stage; rules: readonly Schemas["Rule"][] }) {
  const panel = useRef<HTMLElement>(null);
  const { node, rules: now } = useTrailing(stage, panel).fired;
  const { model } = stage;
  const used = useMemo(() => new Set(model.events.flatMap((event) => event.rules ?? [])), [model]);
  const idle = rules.filter(({ id }) => !used.has(id));
  const list = (some: readonly Schemas["Rule"][]) => (
    <ol>
      {some.map((rule) => {
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
  );
  return (
    <section ref={panel} class="panel rules" aria-labelledby="rules-title">
      <h2 id="rules-title">Rules</h2>
      {list(idle.length === rules.length ? rules : rules.filter(({ id }) => used.has(id)))}
      {idle.length > 0 && idle.length < rules.length && (
        <details>
          <summary>Rules that this run does not use ({idle.length})</summary>
          {list(idle)}
        </details>
      )}
    </section>
  );
}
