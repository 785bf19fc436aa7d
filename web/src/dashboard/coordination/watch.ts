import type { Open, Stream } from "../stream";
import { Misunderstood, readCoordination } from "../wire";
import { Pace } from "./pace";
import type { Coordination } from "./types";

/** A stream that broke is opened again after so long, if its member is still the one to ask. */
export const AGAIN_AFTER_MS = 1_000;

/** A member tells of the first thousand of each kind, or of as many as it is asked for, up to these. */
export const MORE = 10_000;

/** What the page knows of the coordination, and from whom. */
export interface CoordinationState {
  /**
   * Whether a member tells of its coordination, is about to, or has none because it is of an older
   * version. `resting` is while the page is not looked at.
   */
  phase: "resting" | "asking" | "live" | "without" | "lost";
  /** The latest that was told, also if no member answers any more. */
  coordination: Coordination | null;
  /** What was not understood. */
  trouble: string | null;
}

export const NOTHING_YET: CoordinationState = { phase: "resting", coordination: null, trouble: null };

/**
 * Follows the coordination as one member's copy shows them. A member that has none is not asked for
 * them: a browser would call its answer an error.
 */
export class CoordinationWatch {
  #state = NOTHING_YET;
  #origin: string | null = null;
  #wantsMore = false;
  #stream: Stream | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #latest = "";
  /** Those that are known to have coordination. */
  readonly #able = new Set<string>();
  readonly #pace = new Pace<string>((text) => this.#hear(text));

  constructor(
    private readonly open: Open,
    /** Whether the member at this address has coordination; fails if it does not answer. */
    private readonly hasCoordination: (origin: string) => Promise<boolean>,
    private readonly changed: (state: CoordinationState) => void,
  ) {}

  /**
   * Follows the member at this address, and none if there is no address; as much as it tells by itself, or as
   * much as it can. Called again and again, it goes on.
   */
  follow(origin: string | null, wantsMore = false) {
    if (origin === this.#origin && wantsMore === this.#wantsMore) return;
    this.#hangUp();
    this.#origin = origin;
    this.#wantsMore = wantsMore;
    if (origin === null) this.#set({ phase: "resting" });
    else void this.#begin(origin);
  }

  async #begin(origin: string) {
    this.#set({ phase: "asking", trouble: null });
    let able = this.#able.has(origin);
    try {
      able ||= await this.hasCoordination(origin);
    } catch {
      if (origin === this.#origin) this.#lose(origin);
      return;
    }
    // Another member may be followed by now, or the same one for the second time.
    if (origin !== this.#origin || this.#stream !== null) return;
    if (!able) return this.#set({ phase: "without", coordination: null });
    this.#able.add(origin);
    this.#latest = "";
    const stream = this.open(`${origin}/v1/coordination/watch${this.#wantsMore ? `?limit=${MORE}` : ""}`, {
      said: (text) => stream === this.#stream && this.#said(text),
      broke: () => stream === this.#stream && this.#lose(origin),
    });
    this.#stream = stream;
  }

  #said(text: string) {
    // It speaks every few seconds even if there is nothing new.
    if (text === this.#latest && this.#state.phase === "live") return;
    this.#latest = text;
    this.#pace.take(text);
  }

  #hear(text: string) {
    try {
      this.#set({ phase: "live", coordination: readCoordination(text), trouble: null });
    } catch (error) {
      if (!(error instanceof Misunderstood)) throw error;
      this.#set({ phase: "live", trouble: error.message });
    }
  }

  #lose(origin: string) {
    this.#hangUp();
    // It may come back as another version.
    this.#able.delete(origin);
    this.#set({ phase: "lost" });
    this.#timer = setTimeout(() => void this.#begin(origin), AGAIN_AFTER_MS);
  }

  #hangUp() {
    clearTimeout(this.#timer);
    this.#pace.clear();
    this.#stream?.close();
    this.#stream = null;
  }

  #set(change: Partial<CoordinationState>) {
    this.#state = { ...this.#state, ...change };
    this.changed(this.#state);
  }
}
