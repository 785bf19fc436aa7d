import type { Event } from "./recording";

/**
 * The event that began what the process of the current event is doing: it received something, a
 * timer ran out, it was asked for something. What it sends and says then belongs to that.
 */
export function beganAt(events: readonly Event[], step: number): number {
  let index = step - 1;
  while (index > 0 && follows(events[index]!, events[index - 1]!)) index--;
  return index;
}

function follows(event: Event, before: Event): boolean {
  return (event.event === "send" || event.event === "output") && event.node === before.node && event.us === before.us;
}

/** The rules that have just been applied, and by whom. */
export function firedAt(events: readonly Event[], step: number): { node: number | null; rules: readonly string[] } {
  const event = events[beganAt(events, Math.min(step, events.length))];
  return { node: event?.node ?? null, rules: event?.rules ?? [] };
}
