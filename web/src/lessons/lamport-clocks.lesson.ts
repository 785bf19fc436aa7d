import scenario from "./runs/lamport-clocks.txt?raw";
import type { LessonBody } from "./types";
import { right, wrong } from "./write";

export const lesson: LessonBody = {
  algorithm: "reliable-link",
  stamps: "lamport",
  intro:
    "Three processes write letters. Each has a counter: it counts its own events, and a letter carries the number of its sending. " +
    "The numbers below the lines are these stamps.",
  scenario,
  stops: [
    {
      after: { ms: 4, node: 3, event: "send", peer: 1 },
      tell: "P1's letter to P2 was sent with stamp 3. P2 has done nothing yet: its counter is 0.",
      ask: "Which stamp does the arrival at P2 get?",
      choices: [
        wrong("1, its first event", "Then the arrival would have a smaller stamp than the sending that caused it."),
        wrong("3, as the letter says", "Arriving is an event after the sending. It needs a larger number."),
        right("4", "The larger of its own counter and the letter's stamp, plus one."),
      ],
      until: { ms: 10, node: 2, event: "receive", peer: 1 },
      explain: "So a cause always has a smaller stamp than its effect.",
      rules: ["C2"],
      stamped: [{ at: { ms: 10, node: 2, event: "receive" }, lamport: 4 }],
    },
    {
      after: { ms: 12, node: 2, event: "send", peer: 3 },
      tell: "P1 sent its letter with stamp 3, and P3 sent one with stamp 3, too. P2's letter has stamp 8.",
      ask: "Two events with stamp 3. Which comes first in the order of stamps?",
      choices: [
        right("P1's, because 1 is smaller than 3", "Equal stamps are ordered by the number of the process. All processes do it alike."),
        wrong("P1's, because it happened 4 ms earlier", "No process sees the time of day. The stamps do not know it."),
        wrong("It is open", "As a cause, yes. But an order of all events is wanted, and everybody must find the same one."),
      ],
      until: { ms: 14, node: 1, event: "receive", peer: 3 },
      explain: "That order decides who is first in Lamport's mutual exclusion. P3's letter reaches P1, and the arrival gets stamp 4.",
      rules: ["C2"],
      stamped: [{ at: { ms: 14, node: 1, event: "receive" }, lamport: 4 }],
    },
    {
      after: { ms: 14, node: 1, event: "output", text: "gets letter 1 from P3" },
      tell: "P1's arrival has stamp 4, P2's sending had stamp 8.",
      ask: "4 is smaller than 8. Could the arrival at P1 have caused P2's sending?",
      choices: [
        wrong("Yes: it has the smaller stamp", "Is there a way from the one to the other, along lines and arrows?"),
        right("No: they are concurrent", "A cause has a smaller stamp, but a smaller stamp does not make a cause."),
        wrong("Yes: P3's letter tells P2", "P3's letter went to P1. Nothing of it has reached P2."),
      ],
      until: { ms: 22, node: 3, event: "receive", peer: 2 },
      explain: "Click an event: its past and its future light up, and all else is concurrent with it. Lamport stamps cannot show that.",
      rules: ["C2"],
      stamped: [{ at: { ms: 12, node: 2, event: "send" }, lamport: 8 }, { at: { ms: 22, node: 3, event: "receive" }, lamport: 9 }],
    },
  ],
  end: "Lamport stamps put all events into one order that fits causes and effects. They forget which of two had nothing to do with each other.",
  further: [
    { exhibit: "clocks-lamport", say: "The same run, yours to stamp" },
    { exhibit: "lamport-crossing-requests", say: "What the order is good for" },
  ],
};
