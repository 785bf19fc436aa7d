import { batch, computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { momentFrom, placeOf, type Model } from "../run/model";
import { eventsUntil } from "../run/timeline";
import { Trail } from "./trail";

/** The speeds that one can choose. */
export const SPEEDS = [0.25, 0.5, 1, 2, 4, 8, 16] as const;

/** How much of the time line passes in a second at speed 1. */
const UNITS_PER_SECOND = 0.8;
/** Without motion, the player stays at each event for this long at speed 1. */
const DWELL_MS = 700;

/**
 * Where one is in a run. Everything that shows the run looks here, and everything that moves
 * through it writes here.
 */
export class Stage {
  /** How many events have happened. */
  readonly step: ReadonlySignal<number>;
  /** Where on the time line: at the step or, while playing, on the way to the next. */
  readonly place: ReadonlySignal<number>;
  readonly playing: ReadonlySignal<boolean>;
  readonly speed = signal(1);
  /** Nobody gets beyond this step: a lesson stops there. */
  readonly limit: Signal<number>;
  /** The event, by its index, whose past and future are lit: by pointing at it, or for good. */
  readonly pointed = signal<number | null>(null);
  readonly picked = signal<number | null>(null);
  readonly lit: ReadonlySignal<number | null>;
  /** The process whose state stands first. */
  readonly node = signal<number | null>(null);
  /** How far the diagram is stretched. */
  readonly zoom = signal(1);

  /** The step again, for what may lag a little behind. */
  readonly trail: Trail;

  private readonly steps: Signal<number>;
  private readonly places: Signal<number>;
  private readonly plays = signal(false);
  private frame = 0;

  constructor(
    readonly model: Model,
    at = 0,
    limit = model.last,
  ) {
    const step = Math.max(0, Math.min(at, model.last));
    this.step = this.steps = signal(step);
    this.place = this.places = signal(placeOf(model, step));
    this.playing = this.plays;
    this.limit = signal(limit);
    this.trail = new Trail(this.step);
    this.lit = computed(() => this.pointed.value ?? this.picked.value);
  }

  /** Goes to a step and stays there. */
  goTo(step: number) {
    this.pause();
    this.jump(step);
  }

  /** So many events on, or back. */
  by(steps: number) {
    this.goTo(this.step.peek() + steps);
  }

  /** To the next moment worth a stop, or the last one before. */
  toMoment(forward: boolean) {
    const moment = momentFrom(this.model, this.step.peek(), forward);
    this.goTo(moment?.step ?? (forward ? this.model.last : 0));
  }

  /** Plays from here; from the end, once more from the beginning. */
  play() {
    if (this.plays.peek()) return;
    if (this.step.peek() >= this.model.last) this.jump(0);
    if (this.step.peek() >= this.limit.peek()) return;
    this.plays.value = true;
    let before = performance.now();
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const walk = (now: number) => {
      const ms = (now - before) * this.speed.peek();
      if (!isStill) this.advance((ms / 1000) * UNITS_PER_SECOND);
      else if (ms >= DWELL_MS) this.jump(this.step.peek() + 1);
      if (!isStill || ms >= DWELL_MS) before = now;
      if (this.step.peek() >= this.limit.peek()) this.pause();
      if (this.plays.peek()) this.frame = requestAnimationFrame(walk);
    };
    this.frame = requestAnimationFrame(walk);
  }

  pause() {
    cancelAnimationFrame(this.frame);
    this.plays.value = false;
  }

  toggle() {
    if (this.plays.peek()) this.pause();
    else this.play();
  }

  /** One of the {@link SPEEDS} on, or back. */
  faster(by: number) {
    const at = SPEEDS.findIndex((speed) => speed >= this.speed.peek());
    this.speed.value = SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, at + by))]!;
  }

  private jump(to: number) {
    const step = Math.max(0, Math.min(to, this.limit.peek(), this.model.last));
    batch(() => {
      this.steps.value = step;
      this.places.value = placeOf(this.model, step);
    });
    this.trail.wake();
  }

  private advance(by: number) {
    const place = this.places.peek() + by;
    const { timeline, last, events } = this.model;
    const step = place >= timeline.end ? last : Math.min(eventsUntil(timeline, place), events.length);
    if (step >= this.limit.peek()) return this.jump(this.limit.peek());
    batch(() => {
      this.steps.value = step;
      this.places.value = place;
    });
    this.trail.wake();
  }
}
