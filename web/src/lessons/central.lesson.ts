import scenario from "./runs/central.txt?raw";
import type { LessonBody } from "./types";
import { right, wrong } from "./write";

export const lesson: LessonBody = {
  intro:
    "Four processes share a critical section: a stretch of work that only one may do at a time. P4 is the coordinator. A " +
    "message takes 10 ms.",
  scenario,
  stops: [
    {
      after: { ms: 0, node: 1, event: "output", text: "asks for the section" },
      tell: "P1 wants to enter.",
      ask: "Which processes does P1 ask?",
      choices: [
        wrong("All others", "Who could say no? Only one process keeps the list of those who want to enter."),
        right("P4 only", "The coordinator knows who is inside. No other process has to be asked."),
        wrong("No process: it enters", "P1 cannot know whether another process is inside."),
      ],
      until: { ms: 0, node: 1, event: "send", peer: 4 },
      explain: "One REQUEST, to the coordinator.",
      rules: ["C1"],
      sent: { REQUEST: 1 },
    },
    {
      after: { ms: 30, node: 4, event: "receive", peer: 3 },
      tell: "P1 is inside. P3's REQUEST has arrived at P4, and P2's is 1 ms behind.",
      ask: "What does P4 do with P3's REQUEST?",
      choices: [
        wrong("It does not answer until the section is free", "P3 would wait. How could it tell a busy coordinator from a dead one?"),
        right("It puts P3 into the queue and answers DENIED", "DENIED means: busy, and I am alive. The request stays in the queue."),
        wrong("It answers GRANTED", "P1 is inside. That would break the one promise of the algorithm."),
      ],
      until: { ms: 31, node: 4, event: "send", peer: 2 },
      explain: "P4's queue now has P3 and then P2, in the order in which their requests arrived.",
      rules: ["C2"],
      sent: { REQUEST: 3, GRANTED: 1, DENIED: 2 },
    },
    {
      after: { ms: 51, node: 4, event: "receive", peer: 1 },
      tell: "P1 has left, and its RELEASE has arrived at P4.",
      ask: "Which process enters next?",
      choices: [
        wrong("P2, because its number is smaller", "Look at the queue of P4. Are numbers what it is sorted by?"),
        right("P3, because it asked first", "The queue is first come, first served, so no process waits for ever."),
        wrong("P2 and P3 together", "Only one process may be inside."),
      ],
      until: { ms: 61, node: 3, event: "output", text: "enters the section (#2)" },
      explain: "RELEASE and GRANTED: two messages lie between one entry and the next.",
      rules: ["C3"],
      sent: { RELEASE: 1, GRANTED: 2 },
    },
    {
      after: { ms: 81, node: 2, event: "output", text: "enters the section (#3)" },
      tell: "P2 is the third process inside. Two of the three had to wait.",
      ask: "How many messages will the three entries have cost when P2 has left?",
      choices: [
        wrong("9", "That is REQUEST, GRANTED and RELEASE for each. Two processes got one message more."),
        right("11", "Three for each entry, and a DENIED for each of the two that waited."),
        wrong("12", "P1 found the section free. Was it told DENIED?"),
      ],
      until: { ms: 91, node: 4, event: "receive", peer: 2 },
      explain: "Three messages an entry is little. The price: if P4 dies, no process enters until there is another coordinator.",
      rules: ["C3"],
      sent: { REQUEST: 3, GRANTED: 3, DENIED: 2, RELEASE: 3 },
    },
  ],
  end: "One process decides: simple, fair and cheap, and a single point of failure. Crash P4 while P2 waits and see what happens.",
  further: [
    { exhibit: "central-coordinator-dies", say: "The coordinator dies, and an election finds another" },
    { exhibit: "central-holder-pauses-beyond-t", say: "A holder that sleeps too long" },
  ],
};
