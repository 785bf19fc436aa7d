import type { BranchStep } from "./links";
import type { Model } from "./model";
import type { Event } from "./recording";
import { Step } from "./step";
import { deedWords, inMs, processName } from "./words";

/** Cuts a link in both directions. */
export const cutLink = (a: number, b: number) => `cut ${a}<>${b}`;

/** What a branch is called: `P3 crashes at 20ms`. */
export const branchLabel = ({ command, afterUs }: BranchStep) => `${deedWords(command)} at ${inMs(afterUs)}`;

/** How many events two runs have in common before they part. */
export function commonEvents(a: readonly Event[], b: readonly Event[]): number {
  let index = 0;
  while (index < a.length && index < b.length && isSame(a[index]!, b[index]!)) index++;
  return index;
}

function isSame(a: Event, b: Event): boolean {
  if (a.us !== b.us || a.node !== b.node || a.event !== b.event || a.lamport !== b.lamport) return false;
  const [text, other] = [a, b].map((event) => ("text" in event ? event.text : ""));
  return text === other;
}

/** What came of a run, in a few words. */
export interface Verdict {
  is: "good" | "bad" | "open";
  text: string;
}

/** Whether a run came out as it should. A recorded one does not say. */
export function verdictOf({ outcome }: Model): Verdict {
  if (!outcome) return { is: "open", text: "unknown: a trace does not record the outcome" };
  const { violation, agreed, goal } = outcome;
  if (violation) return { is: "bad", text: `${violation.name} violated at ${inMs(violation.us)}: ${violation.text}` };
  return agreed ? { is: "good", text: goal } : { is: "bad", text: `goal not reached: ${goal}` };
}

/** Whom the processes follow in the end: `P4`, or `P3 (2), P5 (1)` if they do not agree; null if there is none. */
export function coordinatorsOf({ outcome }: Model): string | null {
  const votes = new Map<number, number>();
  for (const coordinator of Object.values(outcome?.coordinators ?? {})) {
    if (coordinator !== null) votes.set(coordinator, (votes.get(coordinator) ?? 0) + 1);
  }
  if (votes.size === 0) return null;
  const sorted = [...votes].sort(([, a], [, b]) => b - a);
  return sorted.map(([id, count]) => (sorted.length === 1 ? processName(id) : `${processName(id)} (${count})`)).join(", ");
}

/** How many of the algorithm's own messages were sent. */
export function messagesOf({ flights }: Model): number {
  return flights.kinds.reduce((sum, { role, sends }) => sum + (role === "overhead" ? 0 : sends.length), 0);
}

/** The step after all events up to a time. */
export function stepAtTime(model: Model, us: number): Step {
  const next = model.events.findIndex((event) => event.us > us);
  return next < 0 ? Step.last(model) : Step.at(model, next);
}
