import { aheadAt, farthest, offWords } from "../../run/clocks";
import { inMs, processName } from "../../run/words";
import { palette } from "../diagram/palette";
import type { Stage } from "../stage";
import { useTrailing } from "../trail";

const [WIDTH, HEIGHT, LEFT, RIGHT] = [560, 150, 66, 44];

/** How far each clock is off, over the whole run: a line for each process, the spread, and the current moment. */
export function ClockChart({ stage, hideFuture }: { stage: Stage; hideFuture: boolean }) {
  const step = useTrailing(stage);
  const chart = stage.model.outcome?.clocks;
  if (!chart) return null;
  const { model } = stage;
  const most = farthest(model);
  const end = Math.max(1, model.outcome?.us ?? 1);
  const x = (us: number) => LEFT + ((WIDTH - LEFT - RIGHT) * us) / end;
  const y = (off: number) => HEIGHT / 2 - (off / most) * (HEIGHT / 2 - 14);
  const now = step.us;
  const path = (points: readonly number[][]) => {
    const seen = hideFuture ? points.filter(([us]) => us! <= now) : points;
    return seen.map(([us, off], at) => `${at === 0 ? "M" : "L"}${x(us!).toFixed(1)} ${y(off!).toFixed(1)}`).join("");
  };
  const nodes = Object.keys(chart.lines).map(Number);
  const colour = (at: number) => palette.value.kinds[at % palette.value.kinds.length]![0];
  const spread = chart.spread.findLast(([us]) => us! <= now)?.[1];
  const words = nodes.map((node) => `${processName(node)} ${offWords(aheadAt(model, node, now) ?? 0)}`);
  return (
    <section class="panel clocks" aria-labelledby="clocks-title">
      <header>
        <h2 id="clocks-title">Clocks against {chart.against}</h2>
        <span>{inMs(now)}{spread !== undefined && <> · spread <b>{offWords(spread).slice(1)}</b></>}</span>
      </header>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`How far clocks are off: ${words.join(", ")}`}>
        {[1, 0, -1].map((part) => (
          <g key={part} class="grid">
            <path d={`M${LEFT} ${y(part * most)}H${WIDTH - RIGHT}`} />
            <text x={LEFT - 6} y={y(part * most) + 4}>{part === 0 ? chart.against === "real time" ? "right" : chart.against : offWords(part * most)}</text>
          </g>
        ))}
        <path class="spread" d={path(chart.spread)} />
        {nodes.map((node, at) => <path key={node} d={path(chart.lines[node]!)} style={{ stroke: colour(at) }} />)}
        <path class="now-line" d={`M${x(now)} 4V${HEIGHT - 4}`} />
        {spots(nodes.map((node) => ({ node, y: y(aheadAt(model, node, now) ?? 0) }))).map(({ node, y: level, at }) => (
          <g key={node}>
            <circle cx={x(now)} cy={y(aheadAt(model, node, now) ?? 0)} r="4" style={{ fill: colour(nodes.indexOf(node)) }} />
            <text class="who" x={x(now) + 8} y={level + 4} data-at={at}>{processName(node)}</text>
          </g>
        ))}
      </svg>
    </section>
  );
}

/** Names that would stand upon each other are moved apart. */
function spots(all: { node: number; y: number }[]): { node: number; y: number; at: number }[] {
  const sorted = [...all].sort((a, b) => a.y - b.y);
  let free = -Infinity;
  return sorted.map(({ node, y }, at) => {
    const level = Math.max(y, free);
    free = level + 13;
    return { node, y: level, at };
  });
}
