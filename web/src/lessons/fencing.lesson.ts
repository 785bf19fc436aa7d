import scenario from "./runs/fencing.txt?raw";
import type { LessonBody } from "./types";
import { right, wrong } from "./write";

export const lesson: LessonBody = {
  algorithm: "central",
  intro:
    "Locks protect a file, a disk, a device. P3 is the coordinator of a lock. P1 gets it, and then its machine stands still: a " +
    "long pause of the garbage collector, or a laptop that was closed.",
  scenario,
  stops: [
    {
      after: { ms: 20, node: 1, event: "output", text: "enters the section (#1)" },
      tell: "P1 holds the lock. Its entry has a number: #1.",
      ask: "What might the number be good for?",
      choices: [
        wrong("For statistics", "It travels with the grant. Somebody else could look at it."),
        right("To tell later grants from earlier ones", "Every grant gets a larger number than all before."),
        wrong("To find the way to the coordinator", "P1 knows who the coordinator is."),
      ],
      until: { ms: 30, node: 1, event: "pause" },
      explain: "Now P1 stands still. It does not know that.",
      rules: ["C1", "C2"],
    },
    {
      after: { ms: 50, node: 3, event: "receive", peer: 2 },
      tell: "P2 wants the lock. P3 has heard nothing from P1 for a while.",
      ask: "Can P3 know whether P1 is dead or only slow?",
      choices: [
        wrong("Yes: it asks P1", "P1 does not answer. A dead one would not, either."),
        right("No", "Silence looks the same. After T it takes P1 for dead, or everybody would wait for ever."),
        wrong("Yes: by its clock", "A clock says how long P1 was silent, not why."),
      ],
      until: { ms: 140, node: 2, event: "output", text: "enters the section (#1.1)" },
      explain: "P2 gets the lock with number #1.1. And P1, when it wakes up, still believes that it holds it: two are inside.",
      rules: ["V3", "S2"],
    },
  ],
  end:
    "The lock cannot prevent this; its holder may sleep at any moment. But the file can: it remembers the largest number that " +
    "it has seen, and refuses #1 after #1.1. That is a fencing token. Every grant of Bellwether has one, and Client::check compares " +
    "it for storage that cannot.",
  further: [
    { exhibit: "central-holder-pauses-beyond-t", say: "The same run, yours to break" },
    { exhibit: "check-bully-time-outs-lie", say: "What else a wrong time-out does" },
  ],
};
