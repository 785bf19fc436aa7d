import type { Event } from "../run/recording";
import type { Announced } from "./list";

/** An event of a lesson's run, by what it is: it is found again as long as the run tells the same story. */
export interface Mark {
  /** When; the first such event of the run, if it is left out. */
  ms?: number;
  /** Where; left out for what happens to the network. */
  node?: number;
  event: Event["event"];
  /** The other end of a message. */
  peer?: number;
  /** The message or output, word for word. */
  text?: string;
}

/** Something that the viewer can answer. */
export interface Choice {
  say: string;
  /** Exactly one choice of a stop is right. */
  right?: true;
  /** Why it is right; for a wrong one, a hint. */
  because: string;
}

/** A moment at which a lesson stops and asks what happens next. */
export interface Stop {
  /** The last event that has happened when the question is asked. */
  after: Mark;
  /** What the viewer sees then. */
  tell: string;
  ask: string;
  choices: readonly Choice[];
  /** The event that shows the answer. */
  until: Mark;
  /** What was to be seen, and why. */
  explain: string;
  /** The rules that it follows, by number. */
  rules: readonly string[];
  /** How many messages of some kinds have been sent by the answer, as the text says. A test counts them. */
  sent?: Readonly<Record<string, number>>;
  /** Stamps that the text speaks of. A test compares them. */
  stamped?: readonly { at: Mark; lamport?: number; vector?: Readonly<Record<number, number>> }[];
}

/** What a lesson's file says. */
export interface LessonBody {
  /** The algorithm that it plays, if the lesson has another name. */
  algorithm?: string;
  /** The stamps that stand at the events. */
  stamps?: "lamport" | "vector";
  /** What the lesson is about, before anything has happened. */
  intro: string;
  scenario: string;
  stops: readonly Stop[];
  /** What to keep of it. */
  end: string;
  /** Where to go on: exhibits, by their ids. */
  further: readonly { exhibit: string; say: string }[];
}

/** A run that stops at the moments worth understanding. */
export type LessonData = Announced & LessonBody;
