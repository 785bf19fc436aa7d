import { batch, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { Step } from "../run/step";
import type { Stage } from "./stage";

/** Steps that follow each other faster than this are a pull at the slider, or a fast play. */
const FAST_MS = 30;

/**
 * Lets what is only read follow the step. A single step reaches all at once. While the slider is
 * pulled they take turns, one in each frame: sixty texts a second cannot be read, and the pictures
 * get the time instead.
 */
export class Trail {
  private readonly followers = new Set<Signal<Step>>();
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
    const late = [...this.followers].filter((follower) => follower.peek() !== step);
    const [next] = late;
    if (!next) return;
    if (rests) return this.catchUp();
    next.value = step;
    this.followers.delete(next);
    this.followers.add(next); // the next in turn is another
    this.frame = requestAnimationFrame(() => this.pass());
  }

  private catchUp() {
    batch(() => {
      for (const follower of this.followers) follower.value = this.step.peek();
    });
  }
}

/** The step, for what may lag a few frames behind. */
export function useTrailing(stage: Stage): Step {
  const follower = useMemo(() => stage.trail.join(), [stage]);
  useEffect(() => () => stage.trail.leave(follower), [follower]);
  return follower.value;
}
