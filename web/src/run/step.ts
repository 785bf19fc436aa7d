import { underWay, type Flight } from "./flights";
import { lifeAt, type Life } from "./lives";
import type { Model } from "./model";
import type { Moment } from "./moments";
import { networkAt, type Cut } from "./network";
import type { Event, Outcome } from "./recording";
import { LEAD } from "./timeline";

/**
 * A moment of a run: how many of its events have happened. The first step is before all events. If
 * the run ends in a violation, one more step after the last event shows it.
 *
 * This is the only way to look into a run at a moment. A step belongs to its run and is always
 * within it: {@link Step.at} takes any number and gives the nearest step that there is.
 */
export class Step {
  private constructor(
    private readonly model: Model,
    /** From 0 to {@link Model.last}: for the slider, for links and for comparing. */
    readonly number: number,
  ) {}

  /** The step with this number or, if the run has none, the nearest. */
  static at(model: Model, number: number): Step {
    const whole = Number.isNaN(number) ? 0 : Math.trunc(number);
    return new Step(model, Math.max(0, Math.min(whole, model.last)));
  }

  static first = (model: Model) => Step.at(model, 0);
  static last = (model: Model) => Step.at(model, model.last);

  /** How many events have happened. The step that shows a violation has no event of its own. */
  get happened(): number {
    return Math.min(this.number, this.model.events.length);
  }

  /** The last event that happened; null before the first. */
  get event(): Event | null {
    return this.model.events[this.happened - 1] ?? null;
  }

  /** The violation, at the step that shows it. */
  get violation(): Outcome["violation"] {
    return (this.number > this.model.events.length && this.model.outcome?.violation) || null;
  }

  /** The virtual time, in microseconds. */
  get us(): number {
    return this.event?.us ?? 0;
  }

  /** Where on the time line. */
  get place(): number {
    const { timeline, events } = this.model;
    if (this.number === 0) return -LEAD;
    return this.number > events.length ? timeline.end : timeline.at[this.number - 1]!;
  }

  /**
   * The index of the event that began what the process of the current event is doing: it received
   * something, a timer ran out, it was asked for something. What it sends and says then belongs to
   * that. -1 before the first event.
   */
  get began(): number {
    const { events } = this.model;
    let index = this.happened - 1;
    while (index > 0 && follows(events[index]!, events[index - 1]!)) index--;
    return index;
  }

  /** The rules that have just been applied, and by which process. */
  get fired(): { node: number | null; rules: readonly string[] } {
    const event = this.model.events[this.began];
    return { node: event?.node ?? null, rules: event?.rules ?? [] };
  }

  /** What a process is. */
  process(node: number): Life {
    return lifeAt(this.model.lives.get(node)!, this.happened);
  }

  /** Which processes cannot reach which. */
  get cuts(): readonly Cut[] {
    return networkAt(this.model.network, this.happened);
  }

  /** The messages that are under way, in the order of their sending. */
  get flying(): Flight[] {
    return underWay(this.model.flights, this.happened);
  }

  /** How many messages of each kind have been sent, in the order of `flights.kinds`. */
  get counts(): number[] {
    return this.model.flights.kinds.map(({ sends }) => {
      let low = 0;
      let high = sends.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (sends[middle]! < this.happened) low = middle + 1;
        else high = middle;
      }
      return low;
    });
  }

  /** The processes that acted last, the latest first. */
  actors(most: number): number[] {
    const found = new Set<number>();
    for (let index = this.happened - 1; index >= 0 && found.size < most; index--) {
      const { node } = this.model.events[index]!;
      if (node != null) found.add(node);
    }
    return [...found];
  }

  /** The next moment worth a stop, or the last before this. */
  moment(forward: boolean): Moment | null {
    const { moments } = this.model;
    const found = forward
      ? moments.find(({ step }) => step > this.number)
      : moments.findLast(({ step }) => step < this.number);
    return found ?? null;
  }
}

function follows(event: Event, before: Event): boolean {
  return (event.event === "send" || event.event === "output") && event.node === before.node && event.us === before.us;
}
