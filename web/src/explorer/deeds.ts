import { cutLink } from "../run/branches";
import type { Header } from "../run/recording";
import type { Step } from "../run/step";
import { reaches, type Cut } from "../run/network";
import { processName } from "../run/words";

/** Something that can be done at this moment: a command of the scenario language, or one to be filled in. */
export type Deed = { label: string; command: string } | { label: string; ask: "link" | "partition" | "command" | string };

/** What can be done to a process. */
export function deedsFor({ nodes }: Header, step: Step, node: number, verbs: readonly string[]): Deed[] {
  const life = step.process(node);
  const others = nodes.filter((other) => other !== node);
  const deeds: Deed[] = [];
  if (life.up) deeds.push({ label: "Crash", command: `crash ${node}` });
  else deeds.push({ label: "Recover", command: `recover ${node}` });
  if (life.up && !life.paused) deeds.push({ label: "Pause", command: `pause ${node}` });
  if (life.paused) deeds.push({ label: "Resume", command: `resume ${node}` });
  if (others.length > 0) {
    deeds.push({ label: "Cut off from all others", command: `partition ${node}|${others.join(",")}` });
    deeds.push({ label: "Cut a link…", ask: "link" });
  }
  if (others.length > 1) deeds.push({ label: "Partition…", ask: "partition" });
  deeds.push(...healing(step.cuts));
  if (life.up) {
    for (const verb of verbs) {
      const isPlain = !verb.includes(":");
      const label = `Ask to ${verb.split(":")[0]}`;
      deeds.push(isPlain ? { label, command: `${verb} ${node}` } : { label: `${label}…`, ask: verb });
    }
  }
  deeds.push({ label: "Other command…", ask: "command" });
  return deeds;
}

/** What can be done to a link. */
export function deedsForLink({ cuts }: Step, [a, b]: readonly [number, number]): Deed[] {
  const deeds: Deed[] = [];
  const ways = [
    [a, b],
    [b, a],
  ] as const;
  if (ways.every(([from, to]) => reaches(cuts, from, to))) deeds.push({ label: "Cut", command: cutLink(a, b) });
  for (const [from, to] of ways) {
    if (!reaches(cuts, from, to)) continue;
    deeds.push({ label: `Cut from ${processName(from)} to ${processName(to)} only`, command: `cut ${from}>${to}` });
  }
  const severing = cuts.filter((cut) => !ways.every(([from, to]) => reaches([cut], from, to)));
  if (cuts.length > 1) deeds.push(...severing.map(({ words }) => ({ label: `Heal ${words}`, command: `heal ${words}` })));
  return [...deeds, ...healing(cuts)];
}

function healing({ length }: readonly Cut[]): Deed[] {
  return length === 0 ? [] : [{ label: length === 1 ? "Heal the cut" : `Heal all ${length} cuts`, command: "heal" }];
}
