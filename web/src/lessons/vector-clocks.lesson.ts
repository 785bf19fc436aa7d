import scenario from "./runs/vector-clocks.txt?raw";
import type { LessonBody } from "./types";
import { right, wrong } from "./write";

export const lesson: LessonBody = {
  algorithm: "reliable-link",
  stamps: "vector",
  intro:
    "Three processes write letters. Each keeps one counter for every process: its own counts its events, the others say how much " +
    "it has heard of. A letter carries all three.",
  scenario,
  stops: [
    {
      after: { ms: 4, node: 3, event: "send", peer: 2 },
      tell: "P1's letter to P2 carries (3,0,0). P2 has done nothing yet.",
      ask: "Which stamp does its arrival at P2 get?",
      choices: [
        wrong("(3,0,0)", "That is what the letter says. P2 has an event of its own now."),
        right("(3,1,0)", "P2 takes the larger counter for each process, and counts its own event."),
        wrong("(4,1,0)", "Only P1 counts P1's events. There were three."),
      ],
      until: { ms: 10, node: 2, event: "receive", peer: 1 },
      explain: "Read it as knowledge: three events of P1, one of its own, nothing of P3.",
      rules: ["C2"],
      stamped: [{ at: { ms: 10, node: 2, event: "receive" }, vector: { 1: 3, 2: 1 } }],
    },
    {
      after: { ms: 12, node: 2, event: "send", peer: 3 },
      tell: "P2 has sent a letter with (3,5,0). P3's letter, sent with (0,0,3), is about to arrive at P2.",
      ask: "How do these two sendings stand to each other?",
      choices: [
        wrong("P2's came later: it has larger numbers", "Is every counter of one at least as large as the other's?"),
        right("They are concurrent", "P2 is ahead in its own counters and P3 in its own: neither knew of the other."),
        wrong("P3's came first: it was sent at 4 ms", "In time, yes. But it could not have influenced P2's letter."),
      ],
      until: { ms: 14, node: 2, event: "receive", peer: 3 },
      explain: "After the arrival P2 knows both: (3,6,3).",
      rules: ["C2"],
      stamped: [{ at: { ms: 12, node: 2, event: "send" }, vector: { 1: 3, 2: 5 } }, { at: { ms: 14, node: 2, event: "receive" }, vector: { 1: 3, 2: 6, 3: 3 } }],
    },
    {
      after: { ms: 25, node: 1, event: "output", text: "gets letter 2 from P3" },
      tell: "P1 has heard from P3 and has (5,0,6). P3 has heard from P2 meanwhile.",
      ask: "Does P1 know anything of P2?",
      choices: [
        wrong("Yes, by way of P3", "When did P3 send its letter to P1: before or after it heard from P2?"),
        right("No: its second counter is 0", "P3's letter left at 15 ms with (0,0,6). P2's letter reached P3 at 22 ms."),
        wrong("Yes: it wrote to P2", "Writing says nothing about what the other has done."),
      ],
      until: { ms: 40, node: 3, event: "receive", peer: 1 },
      explain: "P3 gets P1's second letter with (8,0,6) and now has (8,5,9): all that the others have told it.",
      rules: ["C2"],
      stamped: [{ at: { ms: 25, node: 1, event: "output" }, vector: { 1: 5, 3: 6 } }, { at: { ms: 40, node: 3, event: "receive" }, vector: { 1: 8, 2: 5, 3: 9 } }],
    },
  ],
  end: "One event could have caused another exactly if its stamp is smaller in every counter. That costs a number for each process in every message.",
  further: [
    { exhibit: "clocks-vector", say: "The same run, yours to stamp" },
    { exhibit: "causal-broadcast-question-and-answer", say: "What vectors are good for" },
  ],
};
