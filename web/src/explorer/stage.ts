import { batch, computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { Model } from "../run/model";
import { Step } from "../run/step";
import { eventsUntil } from "../run/timeline";
import { Trail } from "./trail";

/** The speeds that the viewer can choose. */
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
  readonly step: ReadonlySignal<Step>;
  /** Where on the time line: at the step or, while playing, on the way to the next. */
  readonly place: ReadonlySignal<number>;
  readonly playing: ReadonlySignal<boolean>;
  readonly speed = signal(1);
  /** The player does not go beyond this step: a lesson stops there. */
  readonly limit: Signal<Step>;
  /** The event, by its index, whose past and future are lit: by pointing at it, or for good. */
  readonly pointed = signal<number | null>(null);
  readonly picked = signal<number | null>(null);
  readonly lit: ReadonlySignal<number | null>;
  /** Whether what the current step has made of a process is hidden: a lesson asks what it will be. */
  readonly veiled = signal(false);
  /** Whether the viewer has seen the end. */
  readonly ended = signal(false);
  /** The process whose state stands first. */
  readonly node = signal<number | null>(null);
  /** Which stamps stand in the diagram. */
  readonly stamps = signal<"none" | "lamport" | "vector">("none");
  /** Whether all fields of a process are shown, beside what its algorithm draws. */
  readonly raw = signal(false);
  /** How far the diagram is stretched. */
  readonly zoom = signal(1);

  /** The step again, for what may lag a little behind. */
  readonly trail: Trail;

  private readonly steps: Signal<Step>;
  private readonly places: Signal<number>;
  private readonly plays = signal(false);
  private frame = 0;

  constructor(
    readonly model: Model,
    at = 0,
    limit = model.last,
  ) {
    const step = Step.at(model, at);
    this.ended.value = at > 0 && step.number === model.last;
    this.step = this.steps = signal(step);
    this.place = this.places = signal(step.place);
    this.playing = this.plays;
    this.limit = signal(Step.at(model, limit));
    this.trail = new Trail(this.step);
    this.lit = computed(() => this.pointed.value ?? this.picked.value);
  }

  /** The step up to which the state of processes is shown, at a step. */
  seen(step: Step): Step {
    return this.veiled.value && step.began >= 0 ? Step.at(this.model, step.began) : step;
  }

  /** Goes to a step, or to the nearest to a number, and stays there. */
  goTo(step: Step | number) {
    this.pause();
    this.jump(step);
  }

  /** A number of events on, or back. */
  by(steps: number) {
    this.goTo(this.step.peek().number + steps);
  }

  /** To the next moment worth a stop, or the last one before. */
  toMoment(forward: boolean) {
    const moment = this.step.peek().moment(forward);
    this.goTo(moment?.step ?? (forward ? this.model.last : 0));
  }

  /** Plays from here; from the end, once more from the beginning. */
  play() {
    if (this.plays.peek()) return;
    if (this.step.peek().number === this.model.last) this.jump(0);
    if (this.isAtLimit) return;
    this.plays.value = true;
    let before = performance.now();
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const walk = (now: number) => {
      const ms = (now - before) * this.speed.peek();
      if (!isStill) this.advance((ms / 1000) * UNITS_PER_SECOND);
      else if (ms >= DWELL_MS) this.jump(this.step.peek().number + 1);
      if (!isStill || ms >= DWELL_MS) before = now;
      if (this.isAtLimit) this.pause();
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

  private get isAtLimit(): boolean {
    return this.step.peek().number >= this.limit.peek().number;
  }

  private jump(to: Step | number) {
    const number = typeof to === "number" ? to : to.number;
    const step = Step.at(this.model, Math.min(number, this.limit.peek().number));
    this.move(step, step.place);
  }

  private advance(by: number) {
    const place = this.places.peek() + by;
    const { timeline, last, events } = this.model;
    const step = place >= timeline.end ? last : Math.min(eventsUntil(timeline, place), events.length);
    if (step >= this.limit.peek().number) return this.jump(this.limit.peek());
    this.move(Step.at(this.model, step), place);
  }

  private move(step: Step, place: number) {
    batch(() => {
      if (step.number !== this.steps.peek().number) this.steps.value = step;
      this.places.value = place;
      if (step.number === this.model.last) this.ended.value = true;
    });
    this.trail.wake();
  }
}
