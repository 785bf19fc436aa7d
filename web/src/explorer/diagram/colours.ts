import type { MessageKind } from "../../run/flights";

/** The colours of a run's pictures: Okabe and Ito's. Orange is kept for the coordinator. */
export interface Palette {
  paper: string;
  /** The paper again, to lay over what has not happened yet. */
  veil: string;
  /** The same, over all that has nothing to do with the event that is looked at. */
  dim: string;
  ink: string;
  faint: string;
  grid: string;
  life: string;
  gone: string;
  void: string;
  reign: string;
  reignEdge: string;
  crown: string;
  crownEdge: string;
  fell: string;
  rose: string;
  note: string;
  inside: string;
  insideEdge: string;
  waits: string;
  now: string;
  past: string;
  future: string;
  overhead: string;
  /** A line and a word of each kind of message. */
  kinds: readonly (readonly [line: string, word: string])[];
}

/** For light backgrounds, and for every picture that is kept. */
export const LIGHT: Palette = {
  paper: "#ffffff",
  veil: "rgb(255 255 255 / 0.72)",
  dim: "rgb(255 255 255 / 0.78)",
  ink: "#15181d",
  faint: "#4d5562",
  grid: "#edf0f3",
  life: "#5d6b7a",
  gone: "#b9c2cc",
  void: "#e9ecf0",
  reign: "#fbdc9a",
  reignEdge: "#e69f00",
  crown: "#f5b61c",
  crownEdge: "#7a5200",
  fell: "#b3261e",
  rose: "#009e73",
  note: "#87346f",
  inside: "#56b4e9",
  insideEdge: "#005c91",
  waits: "#d3eaf9",
  now: "#b3261e",
  past: "#0072b2",
  future: "#a84a00",
  overhead: "#a3adb8",
  kinds: [
    ["#0072b2", "#005c91"],
    ["#009e73", "#00664a"],
    ["#d55e00", "#a84a00"],
    ["#cc79a7", "#8f3f72"],
    ["#56b4e9", "#1d6a96"],
    ["#222222", "#222222"],
  ],
};

/** For dark backgrounds. */
export const DARK: Palette = {
  paper: "#14171c",
  veil: "rgb(20 23 28 / 0.72)",
  dim: "rgb(20 23 28 / 0.78)",
  ink: "#eceff4",
  faint: "#aeb6c2",
  grid: "#222932",
  life: "#8996a4",
  gone: "#47525e",
  void: "#222830",
  reign: "#6b4d0c",
  reignEdge: "#e69f00",
  crown: "#ffc43a",
  crownEdge: "#12161c",
  fell: "#ff7b72",
  rose: "#2fc69a",
  note: "#edb6d4",
  inside: "#56b4e9",
  insideEdge: "#c9e8fc",
  waits: "#1b3d55",
  now: "#ff8a5c",
  past: "#7cc0ec",
  future: "#ffa566",
  overhead: "#5c6874",
  kinds: [
    ["#4ea8e0", "#7cc0ec"],
    ["#2fc69a", "#5ed8b4"],
    ["#ff8a3d", "#ffa566"],
    ["#e39bc4", "#edb6d4"],
    ["#8fd3ff", "#a9dcff"],
    ["#e8e8e8", "#e8e8e8"],
  ],
};

/** Which colour a kind of message has: they are given out in the order of appearance, overhead aside. */
export function colourNumbers(kinds: readonly MessageKind[]): (number | null)[] {
  let next = 0;
  return kinds.map(({ role }) => (role === "overhead" ? null : next++));
}

/** The line and the word of a kind. Where colours begin again, lines are dashed. */
export function kindInk(from: Palette, number: number | null): { line: string; word: string; dash?: readonly number[] } {
  if (number === null) return { line: from.overhead, word: from.faint, dash: [4, 3] };
  const [line, word] = from.kinds[number % from.kinds.length]!;
  return number < from.kinds.length ? { line, word } : { line, word, dash: [9, 3] };
}
