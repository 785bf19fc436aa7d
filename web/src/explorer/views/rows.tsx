import type { ComponentChildren } from "preact";
import type { Item, Row } from "../../run/view";
import { Edges } from "./graph";

/** A row of a process's view, drawn by its shape. */
export function ViewRow({ row, fresh }: { row: Row; fresh: boolean }) {
  const { label, shape, items = [] } = row;
  return (
    <div class={`row-${shape}${fresh ? " changed" : ""}`}>
      <dt>{label}</dt>
      <dd>
        {DRAWN[shape](items)}
        {fresh && <span class="visually-hidden"> (just changed)</span>}
      </dd>
    </div>
  );
}

const DRAWN: Record<Row["shape"], (items: readonly Item[]) => ComponentChildren> = {
  text: (items) => items.map((item) => <span key={item.text} class={`tone-${item.tone ?? "plain"}`}>{item.text}</span>),
  queue: (items) =>
    items.length === 0 ? <span class="tone-faint">empty</span> : <ol class="chips line">{items.map(chip)}</ol>,
  set: (items) => <ul class="chips">{items.map(chip)}</ul>,
  pointer: (items) => items.map((item) => <span key={item.text} class="points">→ {item.text}</span>),
  table: (items) => (
    <table class="cells">
      <tbody>
        <tr>{items.map((item) => <th key={item.text} scope="col">{item.text}</th>)}</tr>
        <tr>{items.map((item) => <td key={item.text} class={`tone-${item.tone ?? "plain"}`}>{item.note}</td>)}</tr>
      </tbody>
    </table>
  ),
  tree: (items) => (
    <div class="twigs">
      {treesOf(items).map((tree, at) => (
        <ul key={at}>
          {tree.map((item, twig) => (
            <li key={twig} class={`tone-${item.tone ?? "plain"}`} style={{ paddingLeft: `${(item.depth ?? 0) * 14}px` }}>
              {(item.depth ?? 0) > 0 && <span aria-hidden="true">└ </span>}
              {item.text}
              {item.note && <b> {item.note}</b>}
            </li>
          ))}
        </ul>
      ))}
    </div>
  ),
  graph: (items) => <Edges edges={items} />,
  ranges: (items) => <Ranges items={items} />,
  cut: (items) => <ul class="chips">{items.map(chip)}</ul>,
};

/** A tree begins at each item without a parent; trees stand side by side. */
function treesOf(items: readonly Item[]): Item[][] {
  const trees: Item[][] = [];
  for (const item of items) {
    if (!item.depth || trees.length === 0) trees.push([]);
    trees.at(-1)!.push(item);
  }
  return trees;
}

function chip(item: Item, at: number) {
  return (
    <li key={at} class={`chip tone-${item.tone ?? "plain"}`}>
      {item.text}
      {item.note && <small>{item.note}</small>}
    </li>
  );
}

/** Stretches of time, one below the other on the same scale. */
function Ranges({ items }: { items: readonly Item[] }) {
  const ends = items.flatMap(({ range }) => range ?? []);
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const at = (us: number) => 4 + (92 * (us - low)) / Math.max(1, high - low);
  return (
    <svg class="ranges" viewBox={`0 0 180 ${items.length * 18 + 14}`} role="img" aria-label={items.map(inWords).join(", ")}>
      {items.map((item, row) => {
        const [from = 0, to = 0] = item.range ?? [];
        const y = row * 18 + 9;
        return (
          <g key={row} class={`tone-${item.tone ?? "plain"}`}>
            <text x="0" y={y + 4}>{item.text}</text>
            <path d={`M${28 + at(from) * 1.4} ${y}H${28 + at(to) * 1.4}M${28 + at(from) * 1.4} ${y - 5}v10M${28 + at(to) * 1.4} ${y - 5}v10`} />
          </g>
        );
      })}
      <text class="scale" x="34" y={items.length * 18 + 11}>{ms(low)}</text>
      <text class="scale end" x="164" y={items.length * 18 + 11}>{ms(high)}</text>
    </svg>
  );
}

const ms = (us: number) => `${us > 0 ? "+" : ""}${Math.round(us / 10) / 100} ms`;
const inWords = ({ text, range, note }: Item) => `${text} from ${ms(range?.[0] ?? 0)} to ${ms(range?.[1] ?? 0)}${note ? `, ${note}` : ""}`;
