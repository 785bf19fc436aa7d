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
        wrong("For statistics", "It travels with the grant. The storage could look at it."),
        right("To tell later grants from earlier ones", "Every grant gets a larger number than all before."),
        wrong("To find the way to the coordinator", "P1 knows who the coordinator is."),
      ],
      until: { ms: 30, node: 1, event: "pause" },
      explain: "Now P1 stands still. It does not know that.",
      rules: ["C1", "C2"],
    },
    {
      after: { ms: 40, node: 3, event: "receive", peer: 2 },
      tell: "P2's REQUEST arrives at P3. P3 has granted the lock to P1, which has not released it.",
      ask: "Can P3 grant the lock to P2 at once?",
      choices: [
        wrong("Yes, P1 is paused", "You see that. P3 sees only that P1 has not released the lock."),
        right("No: P1 may be inside", "P3 first finds out which processes are there. It has asked all of them to report."),
        wrong("Yes, with a new number", "A new number helps against an old holder. But as long as P1 may answer, P3 waits."),
      ],
      until: { ms: 50, node: 3, event: "receive", peer: 2 },
      explain: "P2 reports. P1 does not.",
      rules: ["V1", "V2"],
      sent: { PROPOSE: 2, REPORT: 1 },
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
      until: { ms: 140, node: 2, event: "output", text: "begins view 1 with 2 members" },
      explain: "P3 begins view 1: the group without P1.",
      rules: ["V3", "S2"],
    },
    {
      after: { ms: 140, node: 2, event: "receive", text: "GRANTED(#1)" },
      tell: "P2 gets the lock: it is the first grant of view 1.",
      ask: "Which number does P2's entry have?",
      choices: [
        wrong("#1, as P1's entry", "Then the storage could not tell P1's writes from P2's."),
        right("#1.1", "The view counts first, and the grant within it second. So it is larger than every number of an earlier view."),
        wrong("#2", "The grants of a view are counted from 1. The view stands in front of them."),
      ],
      until: { ms: 140, node: 2, event: "output", text: "enters the section (#1.1)" },
      explain: "P2 is inside with #1.1. P1, when it wakes up, still believes that it holds the lock: two are inside.",
      rules: ["V4"],
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
