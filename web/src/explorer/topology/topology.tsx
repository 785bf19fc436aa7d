import { useComputed } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import { reaches, type Cut } from "../../run/network";
import { processName } from "../../run/words";
import type { Stage } from "../stage";
import { widthOf } from "../diagram/surface";
import { layTopology, type Layout, type Link } from "./layout";
import { Messages } from "./messages";
import { Node } from "./node";
import { Pointers } from "./pointers";

export interface TopologyProps {
  stage: Stage;
  /** Opens what can be done to a process, or to a link; absent if nothing can. */
  onNode?: ((node: number, at: Element) => void) | undefined;
  onLink?: ((link: Link, at: Element) => void) | undefined;
}

/**
 * Who talks to whom: the processes, their links, and the messages under way. Each of these has a sheet of its own,
 * so that the browser need not draw thousands of links again because a message has moved.
 */
export function Topology({ stage, onNode, onLink }: TopologyProps) {
  const { model } = stage;
  const layout = useMemo(() => layTopology(model.header), [model]);
  const cuts = useComputed(() => stage.step.value.cuts).value;
  const { nodes } = model.header;
  const whole = useRef<HTMLDivElement>(null);
  // One of them takes the focus, and the arrow keys lead to the others.
  const focused = stage.node.value ?? nodes[0];
  const onKeyDown = (event: KeyboardEvent) => {
    const way = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    const at = nodes.indexOf(Number((event.target as Element).getAttribute("data-node") ?? NaN));
    if (way === undefined || at < 0) return;
    event.preventDefault();
    const next = nodes[(at + way + nodes.length) % nodes.length]!;
    stage.node.value = next;
    whole.current?.querySelector<SVGElement>(`[data-node="${next}"]`)?.focus();
  };
  const viewBox = `0 0 ${layout.width} ${layout.height}`;
  return (
    <div
      ref={whole}
      class="topology"
      onKeyDown={onKeyDown}
      role="group"
      aria-label={`${nodes.length} processes in a ${model.header.topology}`}
    >
      <svg viewBox={viewBox}><Links layout={layout} cuts={cuts} onLink={onLink} /></svg>
      {Object.keys(model.header.views ?? {}).length > 0 && <svg viewBox={viewBox}><Pointers stage={stage} layout={layout} /></svg>}
      <svg viewBox={viewBox}>
        {nodes.map((node) => (
          <Node
            key={node}
            stage={stage}
            layout={layout}
            node={node}
            side={sideOf(cuts, node)}
            takesFocus={node === focused}
            onOpen={onNode}
          />
        ))}
        {cuts.length > 0 && (
          <text class="cuts" x={8} y={13}><title>{cutsWords(cuts)}</title>{shortened(cutsWords(cuts), layout.width - 16)}</text>
        )}
      </svg>
      <svg viewBox={viewBox}><Messages stage={stage} layout={layout} /></svg>
    </div>
  );
}

function Links({ layout, cuts, onLink }: { layout: Layout; cuts: readonly Cut[]; onLink: TopologyProps["onLink"] }) {
  return (
    <g class="links">
      {layout.links.map((link) => {
        const [a, b] = link;
        const [from, to] = [layout.spots.get(a)!, layout.spots.get(b)!];
        const ends = { x1: from.x, y1: from.y, x2: to.x, y2: to.y };
        const [there, back] = [reaches(cuts, a, b), reaches(cuts, b, a)];
        const state = there && back ? "" : there || back ? "half" : "cut";
        return (
          <g key={`${a} ${b}`} class={`link ${state}`}>
            <line class="wire" {...ends} />
            {state !== "" && <CutSign layout={layout} from={there ? b : a} to={there ? a : b} both={state === "cut"} />}
            {onLink && (
              <line
                class="hit"
                {...ends}
                role="button"
                tabindex={-1}
                aria-label={`Link between ${processName(a)} and ${processName(b)}${state === "" ? "" : ", cut"}`}
                data-link={`${a}-${b}`}
                onClick={(event) => onLink(link, event.currentTarget)}
              />
            )}
          </g>
        );
      })}
    </g>
  );
}

/** A cross in the middle of a link; if only one way is cut, nearer to the one that is not heard. */
function CutSign(props: { layout: Layout; from: number; to: number; both: boolean }) {
  const [from, to] = [props.layout.spots.get(props.from)!, props.layout.spots.get(props.to)!];
  const along = props.both ? 0.5 : 0.35;
  const [x, y] = [from.x + (to.x - from.x) * along, from.y + (to.y - from.y) * along];
  return <path class="cut-sign" d={`M${x - 5} ${y - 5}l10 10m0 -10l-10 10`} />;
}

/** The side of the first partition that a process is on. */
function sideOf(cuts: readonly Cut[], node: number): string | null {
  for (const cut of cuts) {
    if (cut.kind !== "partition") continue;
    const side = cut.sides.findIndex((ids) => ids.includes(node));
    if (side >= 0) return String.fromCharCode(65 + (side % 26));
  }
  return null;
}

/** All cuts in words; those of one process from several others are one. */
function cutsWords(cuts: readonly Cut[]): string {
  const joined: Cut[] = [];
  for (const cut of cuts) {
    const at = joined.findIndex((one) => one.kind !== "partition" && one.kind === cut.kind && `${one.from}` === `${cut.from}`);
    const before = joined[at];
    if (!before || before.kind === "partition" || cut.kind === "partition") joined.push(cut);
    else joined[at] = { ...before, to: [...before.to, ...cut.to].sort((a, b) => a - b) };
  }
  return joined.map(cutWords).join(" · ");
}

/** As much of it as there is room for. */
function shortened(words: string, room: number): string {
  let kept = words;
  while (widthOf(kept, CUTS_SIZE) > room) kept = kept.slice(0, -2);
  return kept === words ? words : `${kept}…`;
}

/** Bold words of 12 pixels. */
const CUTS_SIZE = 12.6;

function cutWords(cut: Cut): string {
  const list = (ids: readonly number[]) => (ids.length > 8 ? `${ids.slice(0, 8).join(",")}…` : ids.join(","));
  if (cut.kind === "partition") return `partition ${cut.sides.map(list).join(" | ")}`;
  if (cut.kind === "both-ways") return `${list(cut.from)} and ${list(cut.to)} cannot reach each other`;
  return `${list(cut.from)} cannot reach ${list(cut.to)}`;
}
