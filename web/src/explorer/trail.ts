import { signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { Stage } from "./stage";

/**
 * Lets what is only read follow the step one after another, one in each frame. While the slider is
 * pulled nobody reads sixty texts a second, and the pictures get the time instead.
 */
export class Trail {
  private readonly followers = new Set<Signal<number>>();
  private frame = 0;

  constructor(private readonly step: ReadonlySignal<number>) {}

  join(): Signal<number> {
    const follower = signal(this.step.peek());
    this.followers.add(follower);
    return follower;
  }

  leave(follower: Signal<number>) {
    this.followers.delete(follower);
  }

  /** To be told whenever the step has changed. */
  wake() {
    if (this.frame === 0 && this.followers.size > 0) this.frame = requestAnimationFrame(() => this.pass());
  }

  private pass() {
    this.frame = 0;
    const step = this.step.peek();
    for (const follower of this.followers) {
      if (follower.peek() === step) continue;
      follower.value = step;
      this.leave(follower);
      this.followers.add(follower); // the next in turn is another
      return this.wake();
    }
  }
}

/** The step, for what may lag a few frames behind. */
export function useTrailing(stage: Stage): number {
  const follower = useMemo(() => stage.trail.join(), [stage]);
  useEffect(() => () => stage.trail.leave(follower), [follower]);
  return follower.value;
}
