import type { Listener, Open } from "./stream";
import type { Member, Status } from "./wire";

/** Streams that a test plays the server of. */
export class FakeNetwork {
  /** Every address that was called, in order. */
  readonly called: string[] = [];
  #open = new Map<string, Listener>();

  readonly open: Open = (url, listener) => {
    this.called.push(url);
    this.#open.set(url, listener);
    return { close: () => this.#open.get(url) === listener && this.#open.delete(url) };
  };

  /** The addresses that are listened to. */
  get listening(): string[] {
    return [...this.#open.keys()];
  }

  say(url: string, what: unknown) {
    this.#open.get(url)?.said(typeof what === "string" ? what : JSON.stringify(what));
  }

  cut(url: string) {
    const listener = this.#open.get(url);
    this.#open.delete(url);
    listener?.broke();
  }
}

export function status(id: number, leader: number | null, term = 1): Status {
  return {
    cluster: "test", id, version: "0.1.0", pid: 100 + id, election: "bully",
    stance: leader === id ? "leading" : "following",
    mandate: leader === null ? null : { leader, term, lease_ms: 400, appointed: false },
    coordinator: leader, why_no_mandate: leader === null ? "no member was elected" : null, reachable: null,
    needed: 2, configured: 3, eligible: true, incarnation: 1, uptime_ms: 1000, last_change: null, warnings: [],
  };
}

export function member(id: number, health: Member["health"] = "alive"): Member {
  return {
    id, address: `m:${id}`, http: `m${id}:80`, priority: 0, witness: false, health, heartbeat_age_ms: 10,
    clock_offset_us: 1, clock_error_us: 2, clock_rate_ppm: null, clock_drifts: false, connected: true,
    is_coordinator: false,
  };
}

/** What member `id` of three says when `leader` leads. */
export const glance = (id: number, leader: number | null, silent: number[] = []) => ({
  status: status(id, leader),
  members: [1, 2, 3].map((other) => member(other, silent.includes(other) ? "silent" : "alive")),
  changes: [],
});
