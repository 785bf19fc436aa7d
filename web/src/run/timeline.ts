import type { Recording } from "./recording";
import { isPost } from "./recording";

/**
 * Where each event stands on the one time line that the diagram draws and the player walks along.
 *
 * One unit is as long as a typical message takes. Events never share a place, so that a place says
 * exactly what has happened; what a process does in one step stands close together. A long silence
 * is torn out.
 */
export interface Timeline {
  /** The place of each event, growing. */
  readonly at: Float64Array;
  /** The place at which the last step ends. */
  readonly end: number;
  /** Silences that are shown shorter than they were. */
  readonly tears: readonly Tear[];
}

/** A silence that is shown shorter than it was: between this event and the one before it. */
export interface Tear {
  before: number;
  us: number;
}

/** How far before the first event a run begins, and how far after the last it ends. */
export const LEAD = 0.4;
/** A silence that would be longer than this is torn. */
const TORN_ABOVE = 2.6;
const TORN_TO = 1.2;
/** Between two events of a step, two steps of a process, and steps of two processes. */
const APART = { within: 0.012, same: 0.09, other: 0.035 };
/** How much of a message's length may be taken by events that stand apart. */
const CROWD = 0.6;

/** Lays out the events of a run. */
export function layTimeline(recording: Recording): Timeline {
  const { events } = recording;
  const at = new Float64Array(events.length);
  const tears: Tear[] = [];
  const unit = typicalFlight(recording);
  const squeeze = Math.min(1, CROWD / (crowd(recording, unit) * APART.other));
  let straight = 0; // where the event would stand if time alone counted
  for (let i = 1; i < events.length; i++) {
    const event = events[i]!;
    const previous = events[i - 1]!;
    let gap = (event.us - previous.us) / unit;
    if (gap > TORN_ABOVE) {
      tears.push({ before: i, us: event.us - previous.us });
      gap = TORN_TO;
    }
    straight += gap;
    const sameStep = event.us === previous.us && event.node === previous.node && !beginsStep(event.event);
    const apart = sameStep ? APART.within : event.node === previous.node ? APART.same : APART.other;
    straight = Math.max(straight, at[i - 1]! + apart * squeeze);
    at[i] = straight;
  }
  return { at, end: (at.at(-1) ?? 0) + LEAD, tears };
}

const beginsStep = (event: string) => event !== "send" && event !== "output";

/** The median time from a message's sending to its arrival, in microseconds. */
function typicalFlight({ events }: Recording): number {
  const sent = new Map<number, number>();
  const times: number[] = [];
  for (const event of events) {
    if (!isPost(event)) continue;
    if (event.event === "send") sent.set(event.id, event.us);
    else if (event.event === "receive") times.push(event.us - (sent.get(event.id) ?? event.us));
  }
  times.sort((a, b) => a - b);
  const median = times[times.length >> 1] ?? 0;
  if (median > 0) return median;
  const span = (events.at(-1)?.us ?? 0) - (events[0]?.us ?? 0);
  return Math.max(1, span / 8);
}

/** How many events there are while a typical message is under way, silences aside. */
function crowd({ events }: Recording, unit: number): number {
  let busy = 0;
  for (let i = 1; i < events.length; i++) {
    busy += Math.min((events[i]!.us - events[i - 1]!.us) / unit, 1);
  }
  return Math.max(1, events.length / Math.max(1, busy));
}

/** How many events stand at or before a place. */
export function eventsUntil({ at }: Timeline, place: number): number {
  let low = 0;
  let high = at.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at[middle]! <= place) low = middle + 1;
    else high = middle;
  }
  return low;
}
