/** The most changes a second that people can follow. */
export const EVERY_MS = 200;
/** At most one in this many parts of the time goes into what is paced. */
const SHARE = 5;

/**
 * Lets the latest of many things through, and never so fast that the page has no time for anything
 * else: what takes long comes less often. What is overtaken while it waits is left out.
 */
export class Pace<T> {
  #waiting: { what: T } | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #notBefore = 0;

  constructor(private readonly act: (what: T) => void) {}

  take(what: T) {
    this.#waiting = { what };
    if (this.#timer !== undefined) return;
    const wait = this.#notBefore - performance.now();
    if (wait <= 0) return this.#let();
    this.#timer = setTimeout(() => this.#let(), wait);
  }

  /** Forgets what waits. */
  clear() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#waiting = null;
  }

  #let() {
    const waiting = this.#waiting;
    this.clear();
    if (!waiting) return;
    const began = performance.now();
    try {
      this.act(waiting.what);
    } finally {
      const end = performance.now();
      this.#notBefore = Math.max(began + EVERY_MS, end + (SHARE - 1) * (end - began));
    }
  }
}
