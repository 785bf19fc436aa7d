import type { ReadonlySignal } from "@preact/signals";
import { Relation } from "../../run/causality";
import type { Event } from "../../run/recording";
import { inMs, processName, sentence } from "../../run/words";
import type { Stage } from "../stage";
import { GUTTER, type Plan } from "./plan";

interface TooltipProps {
  stage: Stage;
  plan: ReadonlySignal<Plan>;
  scroll: ReadonlySignal<{ left: number; top: number }>;
  width: ReadonlySignal<number>;
  height: ReadonlySignal<number>;
  relations: ReadonlySignal<Uint8Array | null>;
}

/** What there is to say about the event that is looked at. */
export function Tooltip({ stage, plan, scroll, width, height, relations }: TooltipProps) {
  const index = stage.lit.value;
  const event = index === null ? undefined : stage.model.events[index];
  if (!event || index === null || !relations.value) return null;
  const x = plan.value.x[index]! - scroll.value.left;
  if (x < GUTTER - 10 || x > width.value) return null;
  const y = event.node == null ? 20 : plan.value.y.get(event.node)! - scroll.value.top;
  const onRight = x < width.value / 2;
  const side = onRight ? { left: `${x + 16}px` } : { right: `${width.value - x + 16}px` };
  const level = y < height.value / 2 ? { top: `${Math.max(4, y + 14)}px` } : { bottom: `${height.value - y + 14}px` };
  const count = (relation: number) => relations.value!.reduce((sum, is) => sum + (is === relation ? 1 : 0), 0);
  const others = stage.model.events.length - count(Relation.past) - count(Relation.future) - 1;
  return (
    <div class="tooltip" style={{ ...side, ...level }} role="note">
      <strong>{sentence(event)}</strong>
      <span>
        {inMs(event.us)}
        {event.rules?.length ? ` · rule ${event.rules.join(", ")}` : ""}
      </span>
      {stamps(event) && <span class="stamps">{stamps(event)}</span>}
      {event.event !== "note" && (
        <span class="cones">
          <span class="past">{count(Relation.past)} happened before</span>
          <span class="future">{count(Relation.future)} happened after</span>
          <span>{others} concurrent</span>
        </span>
      )}
    </div>
  );
}

/** Lamport's stamp and the vector stamp; what is no event of a process has none. */
export function stamps(event: Event): string {
  if (event.event === "note" || event.event === "drop") return "";
  const counters = Object.entries(event.vector).map(([node, count]) => `${processName(Number(node))}:${count}`);
  const shown = counters.length > 12 ? [...counters.slice(0, 12), "…"] : counters;
  return `L ${event.lamport}  [${shown.join(" ")}]`;
}
