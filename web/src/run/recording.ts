import type { Schemas } from "../api/client";

export type Header = Schemas["Header"];
export type Event = Schemas["Event"];
export type Outcome = Schemas["Outcome"];

/** All that is known of a run: what the server answers is one. One from a file has neither a scenario nor an outcome. */
export interface Recording {
  header: Header;
  events: readonly Event[];
  /** What it is a run of; null if it was only recorded, and then it cannot be branched. */
  scenario: string | null;
  outcome: Outcome | null;
  /** Where it went otherwise than the scenario says. */
  remarks: readonly string[];
}

/** The number of a message, its sender and so on, for the events that have one. */
export type Post = Extract<Event, { event: "send" | "receive" | "drop" }>;

/** Whether an event is about a message. */
export function isPost(event: Event): event is Post {
  return event.event === "send" || event.event === "receive" || event.event === "drop";
}
