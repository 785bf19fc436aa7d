import { batch, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import type { Step } from "../run/step";
import type { Stage } from "./stage";

/** Steps that follow each other faster than this are a pull at the slider, or a fast play. */
const FAST_MS = 30;

/**
 * While the slider is pulled, one panel follows in every fifth frame: a text that changes more often cannot be read.
 */
const TURN_FRAMES = 5;

/**
 * Lets what is only read follow the step. A single step reaches all at once. While the slider is
 * pulled, panels take turns and those out of sight wait: the pictures get the time instead.
 */
export class Trail {
  private readonly followers = new Set<Signal<Step>>();
  private readonly hidden = new Set<Signal<Step>>();
  private frames = 0;
  private frame = 0;
  private woken = 0;
  private seen: Step | null = null;

  constructor(private readonly step: ReadonlySignal<Step>) {}

  join(): Signal<Step> {
    const follower = signal(this.step.peek());
    this.followers.add(follower);
    return follower;
  }

  leave(follower: Signal<Step>) {
    this.followers.delete(follower);
    this.hidden.delete(follower);
  }

  /** Tells whether the panel of a follower can be seen. */
  show(follower: Signal<Step>, isSeen: boolean) {
    if (!isSeen) this.hidden.add(follower);
    else if (this.hidden.delete(follower)) this.wake();
  }

  /** To be told whenever the step has changed. */
  wake() {
    const now = performance.now();
    const isFast = now - this.woken < FAST_MS;
    this.woken = now;
    if (!isFast && this.frame === 0) this.catchUp();
    else if (this.frame === 0) this.frame = requestAnimationFrame(() => this.pass());
  }

  private pass() {
    const step = this.step.peek();
    const rests = step === this.seen;
    this.seen = step;
    this.frame = 0;
    if (rests) return this.catchUp();
    if (++this.frames % TURN_FRAMES === 0) {
      const next = [...this.followers].find((follower) => follower.peek() !== step && !this.hidden.has(follower));
      if (next) {
        next.value = step;
        this.followers.delete(next);
        this.followers.add(next); // the next in turn is another
      }
    }
    this.frame = requestAnimationFrame(() => this.pass());
  }

  private catchUp() {
    batch(() => {
      for (const follower of this.followers) follower.value = this.step.peek();
    });
  }
}

/** The step, for what may lag a few frames behind. A panel that may be out of sight says where it is. */
export function useTrailing(stage: Stage, panel?: RefObject<Element | null>): Step {
  const follower = useMemo(() => stage.trail.join(), [stage]);
  useEffect(() => {
    const observer = new IntersectionObserver((seen) => stage.trail.show(follower, seen.at(-1)!.isIntersecting));
    if (panel?.current) observer.observe(panel.current);
    return () => {
      observer.disconnect();
      stage.trail.leave(follower);
    };
  }, [follower]);
  return follower.value;
}
