import { useComputed } from "@preact/signals";
import { pointersOf } from "../../run/view";
import type { Stage } from "../stage";
import type { Layout } from "./layout";

/** Where processes point, as their algorithm says: an arrow beside the link. */
export function Pointers({ stage, layout }: { stage: Stage; layout: Layout }) {
  const arrows = useComputed(() => {
    const step = stage.seen(stage.step.value);
    return stage.model.header.nodes.flatMap((from) => {
      const { up, view } = step.process(from);
      return up ? pointersOf(view).map(({ to, label }) => ({ from, to, label })) : [];
    });
  }).value;
  return (
    <g class="pointers">
      {arrows.map(({ from, to, label }) => {
        const [a, b] = [layout.spots.get(from), layout.spots.get(to)];
        if (!a || !b || from === to) return null;
        const long = Math.hypot(b.x - a.x, b.y - a.y) || 1;
        const [ux, uy] = [(b.x - a.x) / long, (b.y - a.y) / long];
        const off = layout.radius + 4;
        const [x1, y1] = [a.x + ux * off, a.y + uy * off];
        const [x2, y2] = [a.x + ux * (off + Math.max(12, (long - 2 * off) * 0.55)), a.y + uy * (off + Math.max(12, (long - 2 * off) * 0.55))];
        return (
          <g key={`${from} ${to} ${label}`} class="pointer">
            <title>{`P${from}: ${label} P${to}`}</title>
            <path d={`M${x1} ${y1}L${x2} ${y2}`} />
            <polygon points={`${x2 + ux * 9},${y2 + uy * 9} ${x2 - uy * 5},${y2 + ux * 5} ${x2 + uy * 5},${y2 - ux * 5}`} />
          </g>
        );
      })}
    </g>
  );
}
