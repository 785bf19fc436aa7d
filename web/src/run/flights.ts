import type { Event, Post } from "./recording";
import { isPost } from "./recording";

/** One way of a message from its sending to where it ended; a doubled message has two. */
export interface Flight {
  /** The index of the event at which it was sent. */
  send: number;
  /** The index of the event at which it arrived or was dropped; null if the run ends before. */
  arrive: number | null;
  /** Why it did not arrive. */
  why: string | null;
  /** Which of the model's kinds. */
  kind: number;
  from: number;
  to: number;
  text: string;
}

/** A kind of message. */
export interface MessageKind {
  name: string;
  /** `protocol`, `repeat` or `overhead`. */
  role: string;
  /** The indices of its sendings. */
  sends: number[];
}

/** All messages of a run. */
export interface Flights {
  kinds: MessageKind[];
  all: Flight[];
  /** The first flight that an event sent or ended; -1 for an event without any. */
  ofEvent: Int32Array;
  /** For each {@link EVERY}th event, the flights under way before it. */
  snapshots: number[][];
}

const EVERY = 128;

/** Pairs sendings with arrivals. */
export function pairFlights(events: readonly Event[]): Flights {
  const kinds: MessageKind[] = [];
  const numbers = new Map<string, number>();
  const kindOf = (post: Post) => {
    const key = `${post.role} ${post.kind}`;
    const known = numbers.get(key);
    if (known !== undefined) return known;
    numbers.set(key, kinds.length);
    return kinds.push({ name: post.kind, role: post.role, sends: [] }) - 1;
  };
  const all: Flight[] = [];
  const sent = new Map<number, Flight>();
  events.forEach((event, index) => {
    if (!isPost(event)) return;
    const kind = kindOf(event);
    if (event.event === "send") {
      kinds[kind]!.sends.push(index);
      const { from, to, text } = event;
      const flight = { send: index, arrive: null, why: null, kind, from, to, text };
      sent.set(event.id, flight);
      all.push(flight);
      return;
    }
    let flight = sent.get(event.id);
    if (!flight) return; // sent before the recording began
    if (flight.arrive !== null) all.push((flight = { ...flight })); // it was doubled
    flight.arrive = index;
    flight.why = event.event === "drop" ? event.why : null;
  });
  all.sort((a, b) => a.send - b.send); // the copies of a message stand together
  const ofEvent = new Int32Array(events.length).fill(-1);
  for (let number = all.length - 1; number >= 0; number--) {
    const { send, arrive } = all[number]!;
    ofEvent[send] = number;
    if (arrive !== null) ofEvent[arrive] = number;
  }
  return { kinds, all, ofEvent, snapshots: takeSnapshots(events.length, all) };
}

/** The flights under way before every {@link EVERY}th event. */
function takeSnapshots(events: number, all: Flight[]): number[][] {
  const snapshots: number[][] = Array.from({ length: Math.floor(events / EVERY) + 1 }, () => []);
  all.forEach((flight, number) => {
    const last = Math.floor((flight.arrive ?? events) / EVERY);
    for (let shot = Math.floor(flight.send / EVERY) + 1; shot <= last; shot++) snapshots[shot]!.push(number);
  });
  return snapshots;
}

/** The flights that are under way when `step` events have happened, in the order of their sending. */
export function underWay({ all, ofEvent, snapshots }: Flights, step: number): Flight[] {
  const shot = Math.min(Math.floor(step / EVERY), snapshots.length - 1);
  const isUnderWay = ({ arrive }: Flight) => arrive === null || arrive >= step;
  const found = snapshots[shot]!.map((number) => all[number]!).filter(isUnderWay);
  for (let index = shot * EVERY; index < step; index++) {
    for (let number = ofEvent[index]!; number >= 0 && all[number]?.send === index; number++) {
      if (isUnderWay(all[number]!)) found.push(all[number]!);
    }
  }
  return found;
}
