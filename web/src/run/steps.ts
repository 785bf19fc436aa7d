import type { Event } from "./recording";

/**
 * The event that began what the process of the current event is doing: it received something, a
 * timer ran out, it was asked for something. What it sends and says then belongs to that. The step
 * after the last event shows what was broken; the last event is still the current one.
 */
export function beganAt(events: readonly Event[], step: number): number {
  let index = Math.min(step, events.length) - 1;
  while (index > 0 && follows(events[index]!, events[index - 1]!)) index--;
  return index;
}

function follows(event: Event, before: Event): boolean {
  return (event.event === "send" || event.event === "output") && event.node === before.node && event.us === before.us;
}

/** The rules that have just been applied, and by whom. */
export function firedAt(events: readonly Event[], step: number): { node: number | null; rules: readonly string[] } {
  const event = events[beganAt(events, step)];
  return { node: event?.node ?? null, rules: event?.rules ?? [] };
}
