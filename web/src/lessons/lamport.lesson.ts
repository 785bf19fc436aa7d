import scenario from "./runs/lamport.txt?raw";
import type { LessonBody } from "./types";
import { right, wrong } from "./write";

export const lesson: LessonBody = {
  intro:
    "Three processes share a critical section without a coordinator. Each has a logical clock and keeps a queue of all requests, " +
    "sorted by time stamp and then by number. Messages from P2 to P3 take 30 ms, all others 10 ms.",
  scenario,
  stops: [
    {
      after: { ms: 5, node: 3, event: "output", text: "asks for the section" },
      tell: "P2 asked at time 1. P3 has not heard of it yet and asks, too.",
      ask: "Which time stamp does P3's request get?",
      choices: [
        right("1", "P3's own clock was 0. It knows nothing of P2's request, so both have the time 1."),
        wrong("2", "For that, P3 would have to know of P2's request. Has it arrived?"),
        wrong("5, because it is 5 ms", "A logical clock counts events. It knows nothing of milliseconds."),
      ],
      until: { ms: 5, node: 3, event: "send", peer: 2, text: "REQUEST(1)" },
      explain: "Two requests with the same time: (1, P2) and (1, P3). The smaller number comes first, at every process.",
      rules: ["LA1"],
    },
    {
      after: { ms: 12, node: 1, event: "output", text: "asks for the section" },
      tell: "P1 has heard of P2's request and has answered it with time 2. Now P1 asks.",
      ask: "Where will P1's request stand in the queue?",
      choices: [
        wrong("First, because P1 has the smallest number", "Numbers decide only between equal times."),
        right("Last", "P1's clock is past 2, so its request is stamped 3: later than both others."),
        wrong("Between P2 and P3", "P2's and P3's stamps are 1. What is P1's?"),
      ],
      until: { ms: 12, node: 1, event: "send", peer: 3, text: "REQUEST(3)" },
      explain: "Who has heard of a request stamps later. So the queue respects what could have caused what.",
      rules: ["LA1"],
    },
    {
      after: { ms: 15, node: 2, event: "receive", peer: 3 },
      tell: "P2's request is first in P2's own queue. P3's REQUEST has just arrived. P1's REPLY is on its way.",
      ask: "What does P2 still wait for before it enters?",
      choices: [
        wrong("A REPLY from P3 to its own request", "It needs a message with a later stamp from P3. Has one come?"),
        right("A message from P1 with a later stamp", "Then no earlier request of P1 can be on its way, because channels keep the order."),
        wrong("Nothing: it is first", "An earlier request of P1 might still be under way."),
      ],
      until: { ms: 20, node: 2, event: "output", text: "enters the section (#1)" },
      explain:
        "P3's REQUEST (1, P3) is later than (1, P2), and counts as well as a REPLY. With P1's REPLY, P2 has heard later times " +
        "from everybody and enters.",
      rules: ["LA3"],
    },
    {
      after: { ms: 45, node: 2, event: "output", text: "leaves the section" },
      tell: "P2 leaves. P3 is next in every queue.",
      ask: "When may P3 enter?",
      choices: [
        wrong("At once: it is next", "P3 does not see P2 leave."),
        wrong("At 55 ms, when P1 hears of it", "P1 is not P3. How long do messages from P2 to P3 take?"),
        right("At 75 ms, when P2's RELEASE arrives", "Until then P2's request stands first in P3's own queue."),
      ],
      until: { ms: 75, node: 3, event: "output", text: "enters the section (#2)" },
      explain: "3(n-1) messages an entry: REQUEST, REPLY and RELEASE, each to all others.",
      rules: ["LA5", "LA3"],
      sent: { REQUEST: 6, REPLY: 6, RELEASE: 2 },
    },
  ],
  end: "Time stamps give all processes the same queue, and FIFO channels make sure that nothing earlier is still to come.",
  further: [
    { exhibit: "lamport-without-fifo", say: "What goes wrong without FIFO channels" },
    { exhibit: "lamport-textbook-idle-process-dies", say: "An idle process dies" },
  ],
};
