import { pairFlights, type Flights } from "./flights";
import { followLives, lifeAt, spansOf, type Life, type Lives, type Span } from "./lives";
import { findMoments, type Moment } from "./moments";
import { followNetwork, networkAt, type Cut, type Network } from "./network";
import type { Event, Header, Outcome, Recording } from "./recording";
import { layTimeline, LEAD, type Timeline } from "./timeline";

/**
 * A run, ready to be shown at any of its moments.
 *
 * A moment is a step: how many events have happened. Step 0 is before the first. If a promise was
 * broken, one more step after the last event shows that.
 */
export interface Model {
  readonly recording: Recording;
  readonly header: Header;
  readonly events: readonly Event[];
  readonly outcome: Outcome | null;
  /** The last step. */
  readonly last: number;
  readonly flights: Flights;
  readonly lives: Lives;
  readonly spans: readonly Span[];
  readonly network: readonly Network[];
  readonly moments: readonly Moment[];
  readonly timeline: Timeline;
}

/** Prepares a run for showing. */
export function modelOf(recording: Recording): Model {
  const { header, events, outcome } = recording;
  const lives = followLives(header, events);
  return {
    recording,
    header,
    events,
    outcome,
    last: events.length + (outcome?.violation ? 1 : 0),
    flights: pairFlights(events),
    lives,
    spans: spansOf(lives),
    network: followNetwork(header.nodes, events),
    moments: findMoments(recording, lives),
    timeline: layTimeline(recording),
  };
}

/** What a process is at a step. */
export function processAt(model: Model, node: number, step: number): Life {
  return lifeAt(model.lives.get(node)!, step);
}

/** Who cannot reach whom at a step. */
export const cutsAt = (model: Model, step: number): readonly Cut[] => networkAt(model.network, step);

/** The event that is current at a step: the last one that happened. */
export const currentEvent = (model: Model, step: number): Event | null => model.events[step - 1] ?? null;

/** The virtual time at a step, in microseconds. */
export function timeAt(model: Model, step: number): number {
  return model.events[Math.min(step, model.events.length) - 1]?.us ?? 0;
}

/** Where a step stands on the time line. */
export function placeOf({ timeline, events }: Model, step: number): number {
  if (step <= 0) return -LEAD;
  return step > events.length ? timeline.end : timeline.at[step - 1]!;
}

/** How many messages of each kind were sent up to a step, in the order of `flights.kinds`. */
export function countsAt({ flights }: Model, step: number): number[] {
  return flights.kinds.map(({ sends }) => {
    let low = 0;
    let high = sends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sends[middle]! < step) low = middle + 1;
      else high = middle;
    }
    return low;
  });
}

/** The next moment worth a stop after a step, or the last before it. */
export function momentFrom(model: Model, step: number, forward: boolean): Moment | null {
  const { moments } = model;
  return (forward ? moments.find((m) => m.step > step) : moments.findLast((m) => m.step < step)) ?? null;
}
