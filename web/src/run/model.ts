import { pairFlights, type Flights } from "./flights";
import { cutsOf, type CutLine } from "./cuts";
import { followLives, spansOf, type Lives, type Span } from "./lives";
import { findMoments, type Moment } from "./moments";
import { followNetwork, type Network } from "./network";
import type { Event, Header, Outcome, Recording } from "./recording";
import { layTimeline, type Timeline } from "./timeline";

/**
 * A run, ready to be shown at any of its moments: see {@link Step}.
 */
export interface Model {
  readonly recording: Recording;
  readonly header: Header;
  readonly events: readonly Event[];
  readonly outcome: Outcome | null;
  /** The number of the last step. */
  readonly last: number;
  readonly flights: Flights;
  readonly lives: Lives;
  readonly spans: readonly Span[];
  /** Cuts through the run, such as snapshots. */
  readonly cuts: readonly CutLine[];
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
    cuts: cutsOf(lives),
    network: followNetwork(header.nodes, events),
    moments: findMoments(recording, lives),
    timeline: layTimeline(recording),
  };
}
