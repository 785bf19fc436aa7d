import type { Recording, Event } from "./recording";
import type { Lives } from "./lives";
import { lifeAt } from "./lives";
import { inMs, processName, sentence } from "./words";

/** What makes a moment worth a stop. */
export type MomentKind =
  | "election"
  | "coordinator"
  | "agreement"
  | "section"
  | "fault"
  | "network"
  | "said"
  | "violation";

/** A moment worth a stop. */
export interface Moment {
  /** How many events have happened then. */
  step: number;
  kind: MomentKind;
  text: string;
}

/** An output that is repeated more often than this is no longer news. */
const NEWS = 120;

/** The moments of a run that are worth a stop, in order. */
export function findMoments(recording: Recording, lives: Lives): Moment[] {
  const { events, outcome } = recording;
  const moments: Moment[] = [];
  const often = countOutputs(events);
  const crowd = new Electorate(lives);
  events.forEach((event, index) => {
    const agreed = crowd.changes(event, index);
    const kind = kindOf(event, often);
    if (kind) moments.push({ step: index + 1, kind, text: sentence(event) });
    if (agreed !== null && kind !== "coordinator") {
      const text = `all live processes follow ${processName(agreed)}`;
      moments.push({ step: index + 1, kind: "agreement", text });
    }
  });
  const violation = outcome?.violation;
  if (violation) {
    const text = `${violation.name} is violated at ${inMs(violation.us)}: ${violation.text}`;
    moments.push({ step: events.length + 1, kind: "violation", text });
  }
  return moments;
}

function kindOf(event: Event, often: Map<string, number>): MomentKind | null {
  switch (event.event) {
    case "crash":
    case "recover":
    case "pause":
    case "resume":
      return "fault";
    case "note":
      return "network";
    case "output":
      if (/^(starts|holds) an election/.test(event.text)) return "election";
      if (event.text.startsWith("elected ")) return event.text === `elected P${event.node}` ? "coordinator" : null;
      if (event.text.startsWith("enters the section")) return "section";
      if (/^(asks for|leaves) the section/.test(event.text)) return null;
      return (often.get(shape(event.text)) ?? 0) > NEWS ? null : "said";
    default:
      return null;
  }
}

const shape = (text: string) => text.replace(/\d+/g, "0");

function countOutputs(events: readonly Event[]): Map<string, number> {
  const often = new Map<string, number>();
  for (const event of events) {
    if (event.event !== "output") continue;
    const key = shape(event.text);
    often.set(key, (often.get(key) ?? 0) + 1);
  }
  return often;
}

/** Counts the followers of each coordinator among those that are up. */
class Electorate {
  private readonly follows = new Map<number, number | null>();
  private readonly votes = new Map<number | null, number>();
  private agreed: number | null = null;

  constructor(private readonly lives: Lives) {
    for (const [node, life] of lives) this.move(node, life[0]!.coordinator);
    this.agreed = this.unanimous();
  }

  /** Whom all that are up follow, if this event made it so. */
  changes(event: Event, index: number): number | null {
    const { node } = event;
    if (node == null || (event.coordinator === undefined && event.event !== "crash")) return null;
    const life = lifeAt(this.lives.get(node) ?? [], index + 1);
    if (life.up) this.move(node, life.coordinator);
    else this.leave(node);
    const now = this.unanimous();
    const before = this.agreed;
    this.agreed = now;
    return now !== before && event.event !== "crash" ? now : null;
  }

  private move(node: number, to: number | null) {
    this.leave(node);
    this.follows.set(node, to);
    this.votes.set(to, (this.votes.get(to) ?? 0) + 1);
  }

  private leave(node: number) {
    const from = this.follows.get(node);
    if (from === undefined) return;
    this.follows.delete(node);
    const left = this.votes.get(from)! - 1;
    if (left === 0) this.votes.delete(from);
    else this.votes.set(from, left);
  }

  private unanimous(): number | null {
    if (this.votes.size !== 1) return null;
    const [only] = this.votes.keys();
    return only ?? null;
  }
}
