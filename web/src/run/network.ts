import type { Event } from "./recording";

/** What keeps some processes from reaching others. */
export type Cut = {
  /** In the scenario language: `cut 1<>2`. */
  words: string;
} & (
  | { kind: "partition"; sides: readonly (readonly number[])[] }
  | { kind: "one-way" | "both-ways"; from: readonly number[]; to: readonly number[] }
);

/** The cuts from an event on. */
export interface Network {
  /** The index of the event that made it so; -1 for the beginning. */
  since: number;
  cuts: readonly Cut[];
}

/** Follows the network through the run, from its notes. */
export function followNetwork(nodes: readonly number[], events: readonly Event[]): Network[] {
  const network: Network[] = [{ since: -1, cuts: [] }];
  events.forEach((event, index) => {
    if (event.event !== "note") return;
    const { cuts } = network.at(-1)!;
    // A note of healing names the cut, unless it was the last one.
    if (event.text === "heal") return void network.push({ since: index, cuts: [] });
    const healed = cuts.findIndex(({ words }) => event.text === `heal ${words}`);
    if (healed >= 0) return void network.push({ since: index, cuts: cuts.toSpliced(healed, 1) });
    const cut = readCut(nodes, event.text);
    if (cut) network.push({ since: index, cuts: [...cuts, cut] });
  });
  return network;
}

function readCut(nodes: readonly number[], text: string): Cut | null {
  const [what, lists = ""] = text.split(" ");
  const ids = (list: string) => list.split(",").map(Number);
  if (what === "partition") {
    const sides = lists.split("|").map(ids);
    const rest = nodes.filter((node) => !sides.some((side) => side.includes(node)));
    return { words: text, kind: "partition", sides: rest.length > 0 ? [...sides, rest] : sides };
  }
  if (what === "cut") {
    const kind = lists.includes("<>") ? "both-ways" : "one-way";
    const [from = "", to = ""] = lists.split(/<?>/);
    return { words: text, kind, from: ids(from), to: ids(to) };
  }
  return null;
}

/** The cuts when `step` events have happened. */
export function networkAt(network: readonly Network[], step: number): readonly Cut[] {
  return network.findLast(({ since }) => since < step)?.cuts ?? [];
}

/** Whether a message can get from one process to another. */
export function reaches(cuts: readonly Cut[], from: number, to: number): boolean {
  return cuts.every((cut) => {
    if (cut.kind === "partition") return cut.sides.some((side) => side.includes(from) && side.includes(to));
    const back = cut.kind === "both-ways" && cut.from.includes(to) && cut.to.includes(from);
    return !back && !(cut.from.includes(from) && cut.to.includes(to));
  });
}
