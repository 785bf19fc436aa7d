import type { Item } from "../../run/view";

const RADIUS = 15;

/** A small directed graph: its nodes on a circle, its edges as arrows. What has a tone stands out. */
export function Edges({ edges }: { edges: readonly Item[] }) {
  const names = [...new Set(edges.flatMap(({ text, to }) => (to == null ? [text] : [text, to])))];
  // Wide rather than high: it stands in a row of cards.
  const wide = Math.max(52, names.length * 17);
  const high = names.length < 3 ? 0 : Math.max(28, names.length * 8);
  const size = { x: 2 * (wide + RADIUS + 10), y: 2 * (high + RADIUS + 13) };
  const spot = new Map(
    names.map((name, at) => {
      const angle = (2 * Math.PI * at) / names.length - (names.length < 3 ? Math.PI : Math.PI / 2);
      return [name, { x: size.x / 2 + wide * Math.cos(angle), y: size.y / 2 + high * Math.sin(angle) }] as const;
    }),
  );
  const tones = new Map(edges.flatMap(({ text, to, tone }) => (to == null && tone ? [[text, tone] as const] : [])));
  const notes = new Map(edges.flatMap(({ text, to, note }) => (to == null && note ? [[text, note] as const] : [])));
  const words = edges.map(({ text, to, note }) => (to == null ? text : `${text} waits for ${to}${note ? ` (${note})` : ""}`));
  return (
    <svg class="edges" viewBox={`0 0 ${size.x} ${size.y}`} style={{ maxWidth: `${size.x}px` }} role="img" aria-label={words.join(", ")}>
      {edges.map((edge, at) => {
        const [from, to] = [spot.get(edge.text), spot.get(edge.to ?? "")];
        if (!from || !to) return null;
        const back = edges.some(({ text, to: target }) => text === edge.to && target === edge.text);
        const middle = { x: (from.x + to.x) / 2 - size.x / 2, y: (from.y + to.y) / 2 - size.y / 2 };
        // Away from the middle of the graph, where words would meet; of two that point at each other, each to its own side.
        const inward = middle.x * -(to.y - from.y) + middle.y * (to.x - from.x) < 0;
        return <Arrow key={at} from={from} to={to} edge={edge} bend={!back && inward ? -9 : 9} />;
      })}
      {names.map((name) => (
        <g key={name} class={`vertex tone-${tones.get(name) ?? "plain"}`} transform={`translate(${spot.get(name)!.x} ${spot.get(name)!.y})`}>
          <circle r={RADIUS} />
          <text y="4">{name}</text>
          {notes.has(name) && <text class="below" y={spot.get(name)!.y < size.y / 2 - 1 ? -RADIUS - 3 : RADIUS + 11}>{notes.get(name)}</text>}
        </g>
      ))}
    </svg>
  );
}

interface Point {
  x: number;
  y: number;
}

/** Bent a little, so that two that point at each other do not lie upon each other. */
function Arrow({ from, to, edge, bend }: { from: Point; to: Point; edge: Item; bend: number }) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const long = Math.hypot(dx, dy) || 1;
  const [ux, uy] = [dx / long, dy / long];
  const start = { x: from.x + ux * RADIUS, y: from.y + uy * RADIUS };
  const tip = { x: to.x - ux * (RADIUS + 3), y: to.y - uy * (RADIUS + 3) };
  const middle = { x: (start.x + tip.x) / 2 - uy * bend, y: (start.y + tip.y) / 2 + ux * bend };
  const [bx, by] = [tip.x - middle.x, tip.y - middle.y];
  const reach = Math.hypot(bx, by) || 1;
  const [hx, hy] = [(bx / reach) * 8, (by / reach) * 8];
  return (
    <g class={`edge tone-${edge.tone ?? "plain"}`}>
      <path d={`M${start.x} ${start.y}Q${middle.x} ${middle.y} ${tip.x} ${tip.y}`} />
      <polygon points={`${tip.x},${tip.y} ${tip.x - hx - hy * 0.5},${tip.y - hy + hx * 0.5} ${tip.x - hx + hy * 0.5},${tip.y - hy - hx * 0.5}`} />
      {edge.note && <text x={middle.x - uy * bend * 0.7} y={middle.y + ux * bend * 0.7 + 3}>{edge.note}</text>}
    </g>
  );
}
