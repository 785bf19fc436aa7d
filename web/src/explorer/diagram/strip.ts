import { lifeAt } from "../../run/lives";
import type { Model } from "../../run/model";
import { MARKS, rowWords, type View } from "../../run/view";
import { processName } from "../../run/words";
import { LIGHT } from "./colours";
import { widthOf, type Surface } from "./surface";

/** What is to be seen of each process at a moment, as boxes below a diagram that is kept. */
export interface Strip {
  boxes: { x: number; y: number; height: number; lines: { words: string; bold: boolean; colour: string; indent: number }[] }[];
  height: number;
}

const [WIDTH, GAP, LINE, SIZE] = [300, 12, 17, 12];

/** Lays the boxes out in rows; nothing if the algorithm does not say what to draw. */
export function layStrip(model: Model, happened: number, room: number): Strip {
  const across = Math.max(1, Math.floor((room + GAP) / (WIDTH + GAP)));
  const shown = [...model.header.nodes].sort((a, b) => a - b).flatMap((node) => {
    const { up, view } = lifeAt(model.lives.get(node)!, happened);
    return up && view ? [linesOf(node, view)] : [];
  });
  const strip: Strip = { boxes: [], height: 0 };
  for (let first = 0; first < shown.length; first += across) {
    const row = shown.slice(first, first + across);
    const height = Math.max(...row.map((lines) => lines.length)) * LINE + 12;
    row.forEach((lines, at) => strip.boxes.push({ x: at * (WIDTH + GAP), y: strip.height, height, lines }));
    strip.height += height + GAP;
  }
  return strip;
}

function linesOf(node: number, { phase, marks = [], rows = [] }: View): Strip["boxes"][number]["lines"] {
  const line = (words: string, bold = false, colour = LIGHT.ink, indent = 0) => ({ words, bold, colour, indent });
  return [
    line([processName(node), ...marks.map((mark) => MARKS[mark])].join(", "), true),
    ...(phase ? [line(phase, true, LIGHT.past)] : []),
    ...rows.flatMap((row) => {
      if (row.shape === "tree") {
        const twigs = (row.items ?? []).map(({ text, note, depth }) => line(`${text} ${note ?? ""}`, false, LIGHT.ink, 10 + 12 * (depth ?? 0)));
        return [line(`${row.label}:`, false, LIGHT.faint), ...twigs];
      }
      return folded(`${row.label}: ${rowWords(row)}`).map((words, at) => line(words, false, LIGHT.ink, at === 0 ? 0 : 10));
    }),
  ];
}

/** Words in lines that fit into a box. */
function folded(words: string): string[] {
  const lines = [""];
  for (const word of words.split(" ")) {
    const longer = lines.at(-1) === "" ? word : `${lines.at(-1)} ${word}`;
    if (widthOf(longer, SIZE) > WIDTH - 26 && lines.at(-1) !== "") lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}

/** Draws the boxes. */
export function paintStrip(on: Surface, { boxes }: Strip) {
  for (const { x, y, height, lines } of boxes) {
    on.rect(x, y, WIDTH, height, LIGHT.paper, { colour: LIGHT.gone, width: 1 }, 6);
    lines.forEach(({ words, bold, colour, indent }, at) => {
      on.text(words, x + 10 + indent, y + 20 + at * LINE, { size: SIZE, colour, bold });
    });
  }
}
