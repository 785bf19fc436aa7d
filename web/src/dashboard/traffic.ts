import type { Message, Messages } from "./wire";

/** Rates are averages over so long. */
export const WINDOW_MS = 5_000;
/** The number of messages other than heartbeats that are kept. */
const KEPT = 60;

interface Sample {
  at: number;
  from: number;
  to: number;
  kind: string;
  count: number;
}

/** How often one member speaks to another, or how often a kind of message is sent. */
export interface Rate {
  perSecond: number;
  /** The kinds of messages, the most frequent first. */
  kinds: string[];
}

/** A message that is no heartbeat, with a number that no other one has. */
export interface Noted extends Message {
  number: number;
}

/** Who talks to whom, how often and about what, from what several members tell. */
export class Traffic {
  /** The latest messages that are no heartbeats, the latest first. */
  notable: readonly Noted[] = [];
  /** How many messages the members told of without saying which. */
  missed = 0;
  #window: Sample[] = [];
  #began: number | null = null;
  #count = 0;

  /**
   * Takes what one member tells; `hears` says which members are listened to. Sender and receiver
   * both tell of a message: the sender's word counts, the receiver's only if the sender is not
   * listened to. Gives back the messages that count.
   */
  add(told: Messages, hears: (id: number) => boolean, now: number): Message[] {
    this.#began ??= now;
    this.missed += told.missed ?? 0;
    const fresh = told.messages.filter((message) => message.from === told.id || !hears(message.from));
    for (const { from, to, kind, count } of fresh) this.#window.push({ at: now, from, to, kind, count });
    const notable = fresh.filter((message) => !message.overhead);
    if (notable.length > 0) {
      const numbered = notable.map((message) => ({ ...message, number: ++this.#count }));
      this.notable = [...numbered.reverse(), ...this.notable].slice(0, KEPT);
    }
    return fresh;
  }

  /** How often each member speaks to each other one: by `from>to`. */
  pairs(now: number): Map<string, Rate> {
    return this.#rates(now, ({ from, to }) => `${from}>${to}`);
  }

  /** How often each kind of message is sent. */
  kinds(now: number): Map<string, Rate> {
    return this.#rates(now, ({ kind }) => kind);
  }

  #rates(now: number, keyOf: (sample: Sample) => string): Map<string, Rate> {
    this.#window = this.#window.filter(({ at }) => now - at < WINDOW_MS);
    const seconds = Math.min(WINDOW_MS, Math.max(1_000, now - (this.#began ?? now))) / 1_000;
    const sums = new Map<string, Map<string, number>>();
    for (const sample of this.#window) {
      const key = keyOf(sample);
      const kinds = sums.get(key) ?? new Map<string, number>();
      kinds.set(sample.kind, (kinds.get(sample.kind) ?? 0) + sample.count);
      sums.set(key, kinds);
    }
    return new Map([...sums].map(([key, kinds]) => {
      const sorted = [...kinds].sort((one, other) => other[1] - one[1]);
      const sum = sorted.reduce((total, [, count]) => total + count, 0);
      return [key, { perSecond: sum / seconds, kinds: sorted.map(([kind]) => kind) }];
    }));
  }
}
