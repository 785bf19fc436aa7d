import type { Message } from "./wire";

/** How long a message is on its way in the picture. Real ones take less than people can see. */
export const FLIGHT_MS = 450;
/** More at once would be a cloud, not a picture. */
const FLASHES_MAX = 400;

/** A message on its way in the picture. */
export interface Flash {
  from: number;
  to: number;
  kind: string;
  overhead: boolean;
  /** Whether a partition swallows it: it ends half-way. */
  cut: boolean;
  began: number;
}

/** The messages that are on their way in the picture. */
export class Flashes {
  #flying: Flash[] = [];

  add(messages: readonly Message[], now: number) {
    for (const { from, to, kind, overhead, cut } of messages) {
      this.#flying.push({ from, to, kind, overhead, cut, began: now });
    }
    if (this.#flying.length > FLASHES_MAX) this.#flying.splice(0, this.#flying.length - FLASHES_MAX);
  }

  /** Those that are on their way now, with how far they are, from 0 to 1. */
  flying(now: number): { flash: Flash; done: number }[] {
    this.#flying = this.#flying.filter(({ began }) => now - began < FLIGHT_MS);
    return this.#flying.map((flash) => ({ flash, done: Math.max(0, (now - flash.began) / FLIGHT_MS) }));
  }
}
