import { effect, signal, type Signal } from "@preact/signals";
import { fetchRun, ServerError } from "../api/client";
import { branchLabel, commonEvents, stepAtTime } from "../run/branches";
import { packSource, writeLink, type BranchStep, type Link, type Source } from "../run/links";
import { modelOf } from "../run/model";
import type { Recording } from "../run/recording";
import { Stage } from "./stage";

/** One of the runs: the original, or a branch. */
export interface Run {
  /** Of which run it is a branch, and how; null for the original. */
  step: BranchStep | null;
  label: string;
  /** Null if the server did not play it. */
  stage: Stage | null;
  problem: string | null;
}

/** The link is written when nothing has changed for so long, or at the latest so long after a change. */
const WRITE_MS = { calm: 250, latest: 1000 };

/**
 * A run with its branches, and which of them is looked at. The link follows every
 * change soon.
 */
export class Session {
  readonly runs: Signal<readonly Run[]>;
  readonly shown = signal(0);
  /** Whether a branch is being played. */
  readonly busy = signal(false);
  private readonly dispose: () => void;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Since when the link is out of date. */
  private changed: number | null = null;

  private constructor(
    readonly source: Source,
    private readonly packed: URLSearchParams,
    recording: Recording,
    link: Pick<Link, "at" | "view">,
    private readonly write: (params: URLSearchParams) => void,
  ) {
    const stage = new Stage(modelOf(recording), link.at);
    const { view } = link;
    stage.speed.value = view.speed;
    stage.zoom.value = view.zoom;
    if (view.node !== null && recording.header.nodes.includes(view.node)) stage.node.value = view.node;
    if (view.event !== null && view.event <= recording.events.length) stage.picked.value = view.event - 1;
    this.runs = signal([{ step: null, label: "Original", stage, problem: null }]);
    this.dispose = effect(() => this.remember());
  }

  static async open(source: Source, recording: Recording, link: Link, write: (params: URLSearchParams) => void) {
    return new Session(source, await packSource(source), recording, link, write);
  }

  /** The stage that is shown. */
  get stage(): Stage {
    return this.runs.value[this.shown.value]?.stage ?? this.runs.value[0]!.stage!;
  }

  /** Shows another run, at the same time. */
  show(index: number) {
    const next = this.runs.peek()[index]?.stage;
    if (!next) return;
    const before = this.stage;
    before.pause();
    next.goTo(stepAtTime(next.model, before.step.peek().us));
    this.adopt(next, before);
    this.shown.value = index;
  }

  /** Goes another way from the moment that is shown. */
  async branch(command: string): Promise<void> {
    const { stage } = this;
    stage.pause();
    const afterUs = stage.step.peek().us;
    await this.grow({ parent: this.shown.peek(), afterUs, command });
  }

  /** Plays the branches that a link speaks of, one after another. */
  async regrow(branches: readonly BranchStep[], link: Link, problems: string[]) {
    for (const [index, step] of branches.entries()) {
      try {
        await this.grow(step, index + 1 === link.run);
      } catch (error) {
        const problem = `Branch ${index + 1} (${branchLabel(step)}) cannot be played: ${(error as Error).message}`;
        problems.push(problem);
        this.runs.value = [...this.runs.peek(), { step, label: branchLabel(step), stage: null, problem }];
      }
    }
    if (link.run > 0) this.stage.goTo(link.at);
  }

  private async grow(step: BranchStep, show = true) {
    const parent = this.runs.peek()[step.parent]?.stage;
    if (!parent) throw new ServerError("its parent run could not be played", null, 0);
    const { scenario } = parent.model.recording;
    if (scenario === null) throw new ServerError("a recorded trace cannot be branched", null, 0);
    this.busy.value = true;
    try {
      const branch = { after_us: step.afterUs, command: step.command };
      const played = await fetchRun({ scenario, branch });
      const common = commonEvents(parent.model.events, played.events);
      const stage = new Stage(modelOf(played), Math.min(common + 1, played.events.length));
      this.adopt(stage, parent);
      this.runs.value = [...this.runs.peek(), { step, label: branchLabel(step), stage, problem: null }];
      if (show) this.shown.value = this.runs.peek().length - 1;
    } finally {
      this.busy.value = false;
    }
  }

  /** What one has chosen stays chosen in another run. */
  private adopt(stage: Stage, from: Stage) {
    stage.speed.value = from.speed.peek();
    stage.zoom.value = from.zoom.peek();
    stage.node.value = from.node.peek();
  }

  /** The link to what is shown now. */
  params(): URLSearchParams {
    const { stage } = this;
    const branches = this.runs.peek().flatMap(({ step }) => (step ? [step] : []));
    const picked = stage.picked.peek();
    const view = {
      speed: stage.speed.peek(),
      zoom: stage.zoom.peek(),
      node: stage.node.peek(),
      event: picked === null ? null : picked + 1,
    };
    return writeLink(this.packed, { branches, run: this.shown.peek(), at: stage.step.peek().number, view });
  }

  private remember() {
    const { step, speed, zoom, node, picked } = this.stage;
    // Whatever of these changes is written, all together and not too often.
    void [this.runs.value, this.shown.value, step.value, speed.value, zoom.value, node.value, picked.value];
    const now = Date.now();
    this.changed ??= now;
    clearTimeout(this.timer);
    const wait = Math.min(WRITE_MS.calm, Math.max(0, this.changed + WRITE_MS.latest - now));
    this.timer = setTimeout(() => this.flush(), wait);
  }

  /** Writes the link now. */
  flush() {
    clearTimeout(this.timer);
    this.changed = null;
    this.write(this.params());
  }

  close() {
    this.dispose();
    clearTimeout(this.timer);
    for (const { stage } of this.runs.peek()) stage?.pause();
  }
}
