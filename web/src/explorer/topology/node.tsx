import { useComputed } from "@preact/signals";
import { aheadAt, farthest, offWords } from "../../run/clocks";
import type { Life } from "../../run/lives";
import { processName } from "../../run/words";
import { crown } from "../diagram/signs";
import type { Stage } from "../stage";
import { captionOf } from "./captions";
import type { Layout } from "./layout";
import { MARKS, type Mark } from "../../run/view";

interface NodeProps {
  stage: Stage;
  layout: Layout;
  node: number;
  /** The side of a partition that it is on: `A`. */
  side: string | null;
  takesFocus: boolean;
  /** Opens what can be done to it; absent if nothing can. */
  onOpen?: ((node: number, at: Element) => void) | undefined;
}

/** A process: what it is shows in its shape, in a word and in its colour. */
export function Node({ stage, layout, node, side, takesFocus, onOpen }: NodeProps) {
  const life = useComputed(() => stage.seen(stage.step.value).process(node)).value;
  const acts = useComputed(() => stage.step.value.event?.node === node).value;
  const { x, y, outX, outY } = layout.spots.get(node)!;
  const { radius } = layout;
  const blamed = useComputed(() => stage.step.value.violation?.by.includes(node) ?? false).value;
  const crowned = life.up && life.coordinator === node;
  const ahead = useComputed(() => aheadOf(stage, node)).value;
  const isClock = life.up && ahead !== null;
  const caption = captionOf(layout, node, useComputed(() => wordsFor(stage, node)).value);
  const state = !life.up ? "down" : life.paused ? "paused" : life.section;
  const isChosen = stage.node.value === node;
  const open = (event: Event) => {
    stage.node.value = node;
    onOpen?.(node, event.currentTarget as Element);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    open(event);
  };
  const small = radius < 13;
  return (
    <g
      class={`node ${state}${crowned ? " crowned" : ""}${acts ? " acts" : ""}${blamed ? " blamed" : ""}${isChosen ? " chosen" : ""}`}
      transform={`translate(${x} ${y})`}
      role="button"
      tabindex={takesFocus ? 0 : -1}
      aria-label={describe(node, life, crowned, side, blamed)}
      aria-haspopup={onOpen ? "menu" : undefined}
      onClick={open}
      onKeyDown={onKeyDown}
      data-node={node}
    >
      <circle class="target" r={Math.max(radius + 6, 14)} />
      {(acts || blamed) && <circle class="halo" r={radius + 5} />}
      <Shape state={state} radius={radius} />
      {isClock && !small && <Hand radius={radius} turn={ahead / farthest(stage.model)} />}
      {!small && <text class="name" y={radius * 0.28} style={{ fontSize: `${Math.min(15, radius * 0.72)}px` }}>{processName(node)}</text>}
      {small && (
        <text class="name outer" x={outX * (radius + 11)} y={outY * (radius + 11) + 3}>{node}</text>
      )}
      {crowned && <polygon class="crown" points={crown(0, -radius - 3, Math.max(6, radius * 0.5)).join(" ")} />}
      {life.up && life.view?.marks && !small && <Signs marks={life.view.marks} radius={radius} />}
      {side !== null && <text class="side" x={-radius - 6} y={-radius + 4}>{side}</text>}
      {caption?.lines.map((line, at) => <text key={at} class="word" x={caption.x - x} y={caption.y - y + at * 12}>{line}</text>)}
    </g>
  );
}

/** How far its clock is ahead, if the run is about clocks. */
const aheadOf = ({ model, step }: Stage, node: number) => (model.outcome?.clocks ? aheadAt(model, node, step.value.us) : null);

/** What a process does or is, in words. */
export function wordsFor(stage: Stage, node: number): string {
  const life = stage.seen(stage.step.value).process(node);
  const ahead = aheadOf(stage, node);
  if (stage.step.value.violation?.by.includes(node)) return "violates";
  if (life.up && ahead !== null) return offWords(ahead);
  return (life.up && !life.paused && life.view?.phase) || standing(life);
}

/** The hand of a clock: straight up if it is right, to the right if it is ahead. */
function Hand({ radius, turn }: { radius: number; turn: number }) {
  const angle = turn * (Math.PI / 2);
  const [x, y] = [Math.sin(angle), -Math.cos(angle)];
  return (
    <>
      <path class="noon" d={`M0 ${-radius}v5`} />
      <path class="hand" d={`M${x * (radius - 9)} ${y * (radius - 9)}L${x * radius} ${y * radius}`} />
    </>
  );
}

/** How a mark looks beside a process: a letter on a disc. */
const SIGNS: Record<Mark, [letter: string, kind: string]> = {
  token: ["T", ""],
  participant: ["!", "soft"],
  passive: ["–", "soft"],
  traitor: ["✗", "bad"],
  victim: ["✗", "bad"],
  recorded: ["✓", "good"],
  master: ["M", ""],
  decided: ["✓", "good"],
  drives: ["D", ""],
};

/** What a process has or is, at its upper right. */
function Signs({ marks, radius }: { marks: readonly Mark[]; radius: number }) {
  return (
    <>
      {marks.map((mark, at) => (
        <g key={mark} class={`sign ${SIGNS[mark][1]}`} transform={`translate(${radius * 0.8 + at * 18} ${-radius * 0.8})`}>
          <title>{MARKS[mark]}</title>
          <circle r="9" />
          <text y="4">{SIGNS[mark][0]}</text>
        </g>
      ))}
    </>
  );
}

/** Round if it works, with corners if it does not; a double edge inside the section. */
function Shape({ state, radius }: { state: string; radius: number }) {
  const r = radius;
  if (state === "down") {
    return (
      <>
        <rect class="body" x={-r} y={-r} width={2 * r} height={2 * r} rx={3} />
        <path class="cross" d={`M${-r} ${-r}L${r} ${r}M${-r} ${r}L${r} ${-r}`} />
      </>
    );
  }
  if (state === "paused") {
    return (
      <>
        <circle class="body" r={r} />
        <path class="bars" d={`M${-r * 0.75} ${-r * 0.5}v${r}M${r * 0.75} ${-r * 0.5}v${r}`} />
      </>
    );
  }
  return (
    <>
      <circle class="body" r={r} />
      {state === "inside" && <circle class="inner" r={r - 4} />}
      {state === "waiting" && <circle class="outer-ring" r={r + 3} />}
    </>
  );
}

/** What a process is, in a word or two. */
export function standing(life: Life): string {
  if (!life.up) return "down";
  if (life.paused) return "paused";
  if (life.section === "inside") return `inside ${life.entry ?? ""}`.trim();
  if (life.section === "waiting") return "waits";
  return "";
}

function describe(node: number, life: Life, crowned: boolean, side: string | null, blamed: boolean): string {
  const parts = [processName(node)];
  const word = [(life.up && life.view?.phase) || standing(life), ...(life.view?.marks ?? []).map((mark) => MARKS[mark])].filter(Boolean).join(", ");
  if (word) parts.push(word);
  if (crowned) parts.push("considers itself the coordinator");
  else if (life.up && life.coordinator !== null) parts.push(`follows ${processName(life.coordinator)}`);
  if (side !== null) parts.push(`on side ${side}`);
  if (blamed) parts.push("takes part in the violation");
  return parts.join(", ");
}
