import { useComputed } from "@preact/signals";
import type { Flight } from "../../run/flights";
import type { Model } from "../../run/model";
import { colourNumbers, kindInk } from "../diagram/colours";
import { palette } from "../diagram/palette";
import type { Stage } from "../stage";
import { boxOf, captionOf } from "./captions";
import type { Layout, Spot } from "./layout";
import { wordsFor } from "./node";
import { Words } from "./words";

/** More words than this would hide the picture. */
const WORDS_MAX = 12;
/** More dots than this are a cloud anyway; some of them stand for all. */
const DOTS_MAX = 300;

/** The messages that are under way, on their links. */
export function Messages({ stage, layout }: { stage: Stage; layout: Layout }) {
  const { model } = stage;
  const flying = useComputed(() => stage.step.value.flying);
  // Where the words for processes stand. With more messages than words, there is nothing to keep away from them.
  const taken = useComputed(() =>
    flying.value.length > WORDS_MAX ? [] : model.header.nodes.flatMap((node) => {
      const caption = captionOf(layout, node, wordsFor(stage, node));
      return caption ? [boxOf(caption)] : [];
    })).value;
  const place = stage.place.value;
  const ink = palette.value;
  const colours = colourNumbers(model.flights.kinds);
  const dots = model.flights.kinds.map(() => "");
  const words = new Words(layout, taken);
  const size = Math.max(5, layout.radius * 0.5);
  const stride = Math.ceil(flying.value.length / DOTS_MAX);
  for (let number = 0; number < flying.value.length; number += stride) {
    const flight = flying.value[number]!;
    const spot = whereIs(model, layout, flight, place);
    // A line of no length with round ends is a dot, and one path draws them all.
    dots[flight.kind] += `M${spot.x.toFixed(1)} ${spot.y.toFixed(1)}h0`;
    if (flying.value.length <= WORDS_MAX) words.add(flight, spot, size);
  }
  return (
    <g class="messages" aria-hidden="true">
      {dots.map((path, kind) => {
        if (path === "") return null;
        const isOverhead = colours[kind] === null;
        return <path key={kind} d={path} stroke={kindInk(ink, colours[kind]!).line} stroke-width={isOverhead ? size * 0.6 : size} />;
      })}
      {stride > 1 && <text class="many" x={layout.width / 2} y={18}>{flying.value.length} messages under way</text>}
      {words.all.map(({ flight, text, x, y }) => (
        <text key={`${flight.send} ${flight.arrive}`} x={x} y={y} fill={kindInk(ink, colours[flight.kind]!).word}>
          {text}
        </text>
      ))}
    </g>
  );
}

/** Where a message is: on the right-hand side of its link, as far as time has taken it; words stand beside it. */
function whereIs({ timeline, events }: Model, { spots, radius }: Layout, flight: Flight, place: number): Spot {
  const from = spots.get(flight.from)!;
  const to = spots.get(flight.to)!;
  const sent = timeline.at[flight.send]!;
  const due = flight.arrive === null ? timeline.at[events.length - 1]! + 1 : timeline.at[flight.arrive]!;
  const done = Math.max(0, Math.min(1, (place - sent) / (due - sent || 1)));
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const [ux, uy] = [(to.x - from.x) / length, (to.y - from.y) / length];
  const free = Math.max(0, length - 2 * (radius + CLEAR));
  // A message that the network loses gets half-way.
  const far = flight.why === "lost" || flight.why === "cut" ? free / 2 : free;
  const along = radius + CLEAR + done * far;
  return { x: from.x + ux * along - uy * 5, y: from.y + uy * along + ux * 5, outX: -uy, outY: ux };
}

/** Messages keep so far away from processes. */
const CLEAR = 9;
