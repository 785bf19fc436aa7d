import { useSignal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import { count } from "../format";
import { textsOfWait, type Filter } from "./find";
import { entangled, graphOf, namesOf, type Edge, type Graph } from "./graph";
import { useWidth } from "./hooks";
import { drawingOf, middleOf, planOf, type Curve, type Sizes } from "./layout";
import type { Coordination } from "./types";
import { clientWords } from "./words";

const NODE = { width: 124, height: 42 };
const ROW = 88;
/** A column is at least so wide. */
const COLUMN = 164;
const CLIENT_LETTERS = 16;
const LOCK_LETTERS = 18;

/** The wait-for graph. */
export function WaitForGraph({ coordination, filter }: { coordination: Coordination; filter: Filter }) {
  const stage = useRef<HTMLDivElement>(null);
  const width = useSignal(640);
  useWidth(stage, useMemo(() => (wide: number) => (width.value = wide), []));
  const names = namesOf(coordination);
  const wanted = coordination.waits.filter((wait) => filter(() => textsOfWait(wait, names)));
  const { graph, left } = entangled(graphOf(wanted, names));
  const stuck = graph.nodes.filter(({ inCycle }) => inCycle);
  const semaphores = new Set(coordination.locks.filter(({ permits }) => permits != null).map(({ name }) => name));
  const mayEnd = graph.edges.some(({ inCycle, locks }) => inCycle && locks.some((lock) => semaphores.has(lock)));
  return (
    <section class="panel waits" aria-labelledby="waits">
      <h3 id="waits">Wait-for graph</h3>
      {coordination.waits.length === 0 && <p>No session waits for another.</p>}
      {coordination.waits.length > 0 && wanted.length === 0 && <p>No session that waits fits the filter.</p>}
      {stuck.length > 0 && (
        <p class="bad">
          <strong>{count(stuck.length, "session")} wait in a cycle.</strong>{" "}
          {mayEnd && "A semaphore is part of it, so another session may still end it by releasing a permit."}
        </p>
      )}
      {left > 0 && <p class="more">The {graph.nodes.length} most entangled of {count(graph.nodes.length + left, "session")} are shown.</p>}
      <div ref={stage} class="stage" tabIndex={graph.nodes.length > 0 ? 0 : undefined} role="group" aria-labelledby="waits">
        {graph.nodes.length > 0 && <Picture graph={graph} width={width.value} />}
      </div>
      {graph.edges.length > 0 && (
        <details>
          <summary>The same in words</summary>
          <ul class="words">{graph.edges.map((edge) => <li key={`${edge.from} ${edge.to}`}>{words(edge, names)}</li>)}</ul>
        </details>
      )}
    </section>
  );
}

const words = ({ from, to, locks, inCycle }: Edge, names: ReadonlyMap<string, string>): string =>
  `${clientWords(names.get(from) ?? "", from)} waits for ${clientWords(names.get(to) ?? "", to)}: ${locks.join(", ")}${inCycle ? " (in a cycle)" : ""}`;

const cut = (text: string, letters: number): string => (text.length > letters ? `${text.slice(0, letters - 1)}…` : text);

function Picture({ graph, width }: { graph: Graph; width: number }) {
  const columns = Math.max(1, Math.floor(width / COLUMN));
  const plan = planOf(graph, columns);
  // A small graph is drawn in the middle of its columns, not across the whole width.
  const sizes: Sizes = { node: NODE, cell: { width: Math.min(200, Math.max(NODE.width + 24, width / columns)), height: ROW } };
  const { curves, left, top, width: wide, height: high } = drawingOf(graph, plan, sizes, ({ locks }) => cut(locks.join(", "), LOCK_LETTERS));
  const names = new Map(graph.nodes.map(({ session, client }) => [session, client]));
  const told = `${count(graph.nodes.length, "session")}. ${graph.edges.slice(0, 12).map((edge) => words(edge, names)).join(". ")}`;
  return (
    <svg width={wide} height={high} viewBox={`${left} ${top} ${wide} ${high}`} role="img" aria-label={told}>
      <defs>
        {["plain", "stuck"].map((kind) => (
          <marker key={kind} id={`arrow-${kind}`} class={kind} viewBox="0 0 10 10" refX="9" refY="5"
            markerUnits="userSpaceOnUse" markerWidth="11" markerHeight="11" orient="auto">
            <path d="M0 0 L10 5 L0 10 Z" />
          </marker>
        ))}
      </defs>
      {curves.map((curve) => <Line key={`${curve.edge.from} ${curve.edge.to}`} {...curve} />)}
      {graph.nodes.map(({ session, client, inCycle }) => {
        const cell = plan.cells.get(session);
        if (!cell) return null;
        const { x, y } = middleOf(cell, sizes);
        return (
          <g key={session} class={inCycle ? "node stuck" : "node"} transform={`translate(${x} ${y})`}>
            <title>{clientWords(client, session)}</title>
            <rect x={-NODE.width / 2} y={-NODE.height / 2} width={NODE.width} height={NODE.height} rx="8" />
            <text class="name" y={client ? -3 : 5}>{cut(client, CLIENT_LETTERS) || session}</text>
            {client && <text class="session" y="14">{session}</text>}
          </g>
        );
      })}
      {curves.map(({ edge, words: said, label }) => (
        <text key={`${edge.from} ${edge.to}`} class={edge.inCycle ? "label stuck" : "label"} x={label.x} y={label.y + 4}>
          <title>{edge.locks.join(", ")}</title>
          {said}
        </text>
      ))}
    </svg>
  );
}

function Line({ edge, from, control, to }: Curve) {
  const kind = edge.inCycle ? "stuck" : "plain";
  return <path class={`edge ${kind}`} d={`M${from.x} ${from.y} Q${control.x} ${control.y} ${to.x} ${to.y}`} marker-end={`url(#arrow-${kind})`} />;
}
