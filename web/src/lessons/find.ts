import type { Event } from "../run/recording";
import type { LessonData, Mark } from "./types";

/** How many events have happened once this one has; 0 if the run has no such event. */
export function stepOf(events: readonly Event[], mark: Mark): number {
  return events.findIndex((event) => fits(event, mark)) + 1;
}

function fits(event: Event, mark: Mark): boolean {
  if (event.event !== mark.event || (mark.ms !== undefined && event.us !== Math.round(mark.ms * 1000))) return false;
  if (mark.node !== undefined && event.node !== mark.node) return false;
  if (mark.text !== undefined && !("text" in event && event.text === mark.text)) return false;
  if (mark.peer === undefined) return true;
  if (event.event === "send") return event.to === mark.peer;
  return (event.event === "receive" || event.event === "drop") && event.from === mark.peer;
}

/** Where a stop stands in a run. */
export interface Place {
  /** The step at which the question is asked. */
  ask: number;
  /** The step that shows the answer. */
  answer: number;
}

/** Where the stops of a lesson stand in its run; null if the run is not the one that it was written for. */
export function placesOf(lesson: LessonData, events: readonly Event[]): Place[] | null {
  const places = lesson.stops.map((stop) => ({ ask: stepOf(events, stop.after), answer: stepOf(events, stop.until) }));
  const inOrder = places.every(
    ({ ask, answer }, k) => ask > 0 && ask < answer && answer <= (places[k + 1]?.ask ?? events.length),
  );
  return inOrder ? places : null;
}
