import scenario from "./runs/total-order-lamport.txt?raw";
import type { LessonBody } from "./types";
import { right, wrong } from "./write";

export const lesson: LessonBody = {
  intro:
    "P1 and P3 broadcast at the same moment. All three processes must deliver both messages in the same order, without a " +
    "coordinator. Each message has a Lamport stamp, and each process keeps a queue sorted by stamp.",
  scenario,
  stops: [
    {
      after: { ms: 10, node: 1, event: "receive", peer: 3 },
      tell: "Both messages have the stamp 1. P1 has just received P3's.",
      ask: "Which of the two is first in P1's queue?",
      choices: [
        right("P1's own message", "(1, P1) is before (1, P3): equal times are ordered by the number of the sender."),
        wrong("P3's, because it was sent first in this run", "P1 cannot know that. It knows the stamps."),
        wrong("It is P1's own at P1, and P3's own at P3", "Then they would deliver in different orders. All sort by the same rule."),
      ],
      until: { ms: 10, node: 1, event: "send", peer: 3, text: "ACK(2)" },
      explain: "P1 also tells everybody its time, 2: no message of P1 with an earlier stamp will come any more.",
      rules: ["TL2"],
    },
    {
      after: { ms: 10, node: 2, event: "receive", peer: 1 },
      tell: "P2 has both messages now, P1's first in its queue. From P3 it has heard the time 1.",
      ask: "May P2 deliver P1's message?",
      choices: [
        right("Yes", "From P1 and from P3 it has stamps that are not before (1, P1). Nothing earlier can still come."),
        wrong("No, it needs an ACK from everybody", "A message says what time it is at its sender as well as an ACK does."),
        wrong("Yes, and P3's message with it", "For (1, P3) it needs something later than that from P1."),
      ],
      until: { ms: 10, node: 2, event: "output", text: "delivers P1#1" },
      explain: "P3's message has to wait at P2 until P1's ACK(2) comes: P1 might have sent something with (1, ...) before.",
      rules: ["TL2", "TL3"],
    },
    {
      after: { ms: 20, node: 2, event: "receive", peer: 1 },
      tell: "P1's ACK(2) has arrived at P2.",
      ask: "In which order do P1, P2 and P3 deliver?",
      choices: [
        wrong("Each its own first", "Look at the queues: they are the same everywhere."),
        right("All P1's, then P3's", "The same stamps, the same rule, the same order. No process had to decide."),
        wrong("P2 as it received them", "P2 received P3's first, and delivered P1's first."),
      ],
      until: { ms: 20, node: 3, event: "output", text: "delivers P3#1" },
      explain: "n(n-1) messages for each broadcast: here 2 MESSAGEs and 4 ACKs.",
      rules: ["TL3"],
      sent: { MESSAGE: 4, ACK: 8 },
    },
  ],
  end: "Total order costs many messages, or a coordinator: a sequencer gives every message its position instead.",
  further: [
    { exhibit: "total-order-sequencer-two-senders", say: "The same with a sequencer" },
    { exhibit: "total-order-lamport-without-fifo", say: "Without FIFO channels" },
  ],
};
