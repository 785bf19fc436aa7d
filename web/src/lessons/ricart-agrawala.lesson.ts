import scenario from "./runs/ricart-agrawala.txt?raw";
import type { LessonBody } from "./types";
import { right, wrong } from "./write";

export const lesson: LessonBody = {
  intro:
    "Three processes, no coordinator, no queue. Who wants to enter asks all others and enters when all have answered. P1 and P2 " +
    "ask at the same moment, both with time stamp 1.",
  scenario,
  stops: [
    {
      after: { ms: 0, node: 1, event: "output", text: "asks for the section" },
      tell: "P1 wants to enter the section. There is no coordinator.",
      ask: "Which processes does P1 ask?",
      choices: [
        wrong("P2, its neighbour", "Then P1 and P3 could enter at the same time: P3 would not know of P1."),
        right("P2 and P3", "Any process that P1 does not ask could be inside. So P1 needs an answer from all."),
        wrong("A majority: P2 is enough", "Two majorities have a process in common. But here a REPLY is no exclusive vote."),
      ],
      until: { ms: 0, node: 1, event: "send", peer: 3 },
      explain: "The request carries a Lamport time stamp, 1. P2 asks at the same time, with the same stamp.",
      rules: ["A1"],
      sent: { REQUEST: 2 },
    },
    {
      after: { ms: 10, node: 2, event: "receive", peer: 1 },
      tell: "P2 has asked with (1, P2). Now P1's request (1, P1) arrives.",
      ask: "What does P2 answer?",
      choices: [
        right("REPLY at once", "(1, P1) is before (1, P2): the times are equal, and 1 is smaller than 2."),
        wrong("Nothing for now", "It would defer if its own request were earlier. Compare the two stamps."),
        wrong("DENIED", "There is no such message here. A process answers yes, or later."),
      ],
      until: { ms: 10, node: 2, event: "send", peer: 1 },
      explain: "P2 lets P1 go first, although it wants to enter itself.",
      rules: ["A2"],
      sent: { REQUEST: 4, REPLY: 1 },
    },
    {
      after: { ms: 10, node: 3, event: "receive", peer: 1 },
      tell: "P1's request arrives at P3, which does not want to enter.",
      ask: "What does P3 do?",
      choices: [
        wrong("It asks P2 first", "P3 has no request of its own, so it has nothing to compare."),
        right("It answers REPLY at once", "It has nothing against it, and it remembers nothing: P1 is not in any queue of P3."),
        wrong("It puts P1 into a queue", "Lamport's algorithm does that. Here only a process with an earlier request keeps others waiting."),
      ],
      until: { ms: 10, node: 3, event: "send", peer: 1 },
      explain: "P3 answers P2 in the same way. Only P1 and P2 have to settle who goes first.",
      rules: ["A2"],
      sent: { REPLY: 2 },
    },
    {
      after: { ms: 10, node: 1, event: "receive", peer: 2 },
      tell: "P2's request has arrived at P1.",
      ask: "What does P1 do?",
      choices: [
        wrong("It answers REPLY as P2 did", "Then both would have all answers and both would enter."),
        right("It defers the answer", "Its own request is earlier. P2 waits because this one REPLY is missing."),
        wrong("It asks P3 who is first", "Both stamps are known to P1. No other process is needed."),
      ],
      until: { ms: 20, node: 1, event: "output", text: "enters the section (#1)" },
      explain: "P1 has REPLYs from P2 and P3 and enters. See the chip at P1: it owes a REPLY to P2.",
      rules: ["A2", "A3"],
      sent: { REPLY: 3 },
    },
    {
      after: { ms: 20, node: 1, event: "output", text: "leaves the section" },
      tell: "P1 leaves the section.",
      ask: "Which messages does it send?",
      choices: [
        wrong("RELEASE to P2 and P3", "That was Lamport's algorithm. Who is waiting here, and for what?"),
        right("REPLY to P2 only", "The deferred answer is the release. P3 waits for nothing."),
        wrong("None", "Then P2 would wait for ever."),
      ],
      until: { ms: 30, node: 2, event: "output", text: "enters the section (#2)" },
      explain: "2(n-1) messages an entry: a REQUEST and a REPLY for each of the others. No RELEASE.",
      rules: ["A4", "A3"],
      sent: { REQUEST: 4, REPLY: 4 },
    },
  ],
  end:
    "An answer that is withheld says \"after me\". It saves a third of Lamport's messages. And one process that is dead says " +
    "nothing, for ever: open the run and crash P3 before it answers.",
  further: [
    { exhibit: "ricart-agrawala-waiter-dies", say: "A process that waits dies" },
    { exhibit: "ricart-agrawala-timestamp-before-id", say: "The time stamp counts before the number" },
  ],
};
