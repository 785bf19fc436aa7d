import scenario from "./runs/active-list.txt?raw";
import type { LessonBody } from "./types";

export const lesson: LessonBody = {
  intro:
    "P1, P2, P3 and P4 form a ring, and each sends only to the next. No message carries a list here: every process sends its " +
    "own number round once and keeps a list of the numbers that pass. P4 is the coordinator. P4 and P1 are about to fail.",
  scenario,
  stops: [
    {
      after: { ms: 0, node: 2, event: "input" },
      tell: "P1 and P4 have crashed. P2 has noticed that P4 does not answer.",
      ask: "What does P2 do?",
      choices: [
        {
          say: "It starts a list with 2 and sends ELECT(2) to P3",
          right: true,
          because: "The list stays at P2. Only the number travels.",
        },
        {
          say: "It sends the list [2] to P3",
          because: "That is the other ring algorithm. Here each process keeps its list and sends only its number.",
        },
        {
          say: "It sends ELECT(2) to P3 and P4",
          because: "On a ring, a process sends only to its successor. P3 sends on to P4.",
        },
      ],
      until: { ms: 0, node: 2, event: "send", peer: 3 },
      explain: "P2's number is on its way. When it returns, it has passed every live process.",
      rules: ["R1"],
    },
    {
      after: { ms: 10, node: 3, event: "receive", peer: 2 },
      tell: "ELECT(2) is the first message of this election that P3 receives. Its list is [3,2] now.",
      ask: "What does P3 send on?",
      choices: [
        {
          say: "ELECT(3) only, because 3 is larger",
          because: "2 has to return to P2, too. Otherwise P2 would never know that its list is complete.",
        },
        {
          say: "ELECT(2), then ELECT(3)",
          because: "The order matters. P2 stops collecting when 2 returns, and would miss a 3 that comes after it.",
        },
        {
          say: "ELECT(3), then ELECT(2)",
          right: true,
          because: "P2 then receives 3 before its own 2 returns, so its list is complete.",
        },
      ],
      until: { ms: 10, node: 3, event: "send", peer: 4, text: "ELECT(2)" },
      explain:
        "A process sends its own number first. This helps only if no message overtakes another, so channels must be FIFO.",
      rules: ["R2a"],
    },
    {
      after: { ms: 220, node: 2, event: "receive", peer: 3, text: "ELECT(3) (again)" },
      tell: "P3 waited twice for 100 ms to skip P4 and P1. Now ELECT(3) is at P2.",
      ask: "P2 receives a number larger than its own. What does it do?",
      choices: [
        {
          say: "It follows P3 from now on",
          because: "A larger number may still come. P2 knows all numbers only when its own number returns.",
        },
        {
          say: "It adds 3 to its list and passes it on",
          right: true,
          because: "P3 has to receive its own number, too.",
        },
        {
          say: "It drops it, because it has not seen a larger number before",
          because: "No number is dropped here. Every number goes all the way round.",
        },
      ],
      until: { ms: 220, node: 2, event: "send", peer: 3, text: "ELECT(3)" },
      explain: "P2's list is [2,3].",
      rules: ["R2b"],
    },
    {
      after: { ms: 220, node: 2, event: "receive", peer: 3, text: "ELECT(2) (again)" },
      tell: "P2's own number has returned, and its list is [2,3].",
      ask: "What does P2 do?",
      choices: [
        {
          say: "P2 elects P3 and announces it to the others",
          because: "No announcement is necessary. The others have lists, too.",
        },
        {
          say: "P2 elects P3 and sends no announcement",
          right: true,
          because: "Every process whose own number returns has the same list and gets the same result.",
        },
        { say: "P2 waits until P3 says that it has won", because: "P2 knows as much as P3 does." },
      ],
      until: { ms: 230, node: 3, event: "output", text: "elected P3" },
      explain:
        "P3 gets the same result 10 ms later, when ELECT(3) returns. Two processes, two numbers, two hops each: 4 messages.",
      rules: ["R2c"],
    },
    {
      after: { ms: 330, node: 1, event: "recover" },
      tell: "P1 has recovered and does not know the coordinator.",
      ask: "How does it find out?",
      choices: [
        {
          say: "It starts an election",
          because: "It could, but then every number would go round. Asking is cheaper.",
        },
        {
          say: "It sends a question round the ring",
          right: true,
          because: "One process on the ring is the coordinator and can answer.",
        },
        { say: "It waits for the next election", because: "There may be none for a long time." },
      ],
      until: { ms: 360, node: 1, event: "output", text: "elected P3" },
      explain:
        "INQUIRY(1) passes P2 and reaches P3, the coordinator, which sends REPLY(3) on round the ring. 3 is larger than 1, so P1 follows P3.",
      rules: ["R3"],
    },
    {
      after: { ms: 490, node: 4, event: "receive", peer: 3, text: "REPLY(3)" },
      tell: "P4 has recovered, too, and has asked the same. The answer is P3.",
      ask: "What does P4 do?",
      choices: [
        {
          say: "It follows P3, as P1 did",
          because: "P1 is smaller than P3. P4 is larger, and the largest live process should be the coordinator.",
        },
        {
          say: "It starts an election",
          right: true,
          because: "4 is larger than 3, so P3 should no longer be the coordinator.",
        },
        { say: "It announces itself", because: "This algorithm has no announcements. Numbers have to go round." },
      ],
      until: { ms: 490, node: 4, event: "send", peer: 1, text: "ELECT(4)" },
      explain: "A process that recovers and is larger than the coordinator starts an election.",
      rules: ["R3", "R1"],
    },
    {
      after: { ms: 490, node: 4, event: "send", peer: 1, text: "ELECT(4)" },
      tell: "All four are live now, and P4's ELECT is the first of this election.",
      ask: "How many ELECTs does this election need?",
      choices: [
        {
          say: "4, because P4's number makes four hops",
          because: "It does, and each of the others sends its own number as well.",
        },
        {
          say: "8: one round to collect, one to announce",
          because: "That is the cost with the list in the message. Here every process collects, and none announces.",
        },
        {
          say: "16: four numbers, four hops each",
          right: true,
          because: "k numbers make k hops each: k² messages, however many processes start.",
        },
      ],
      until: { ms: 560, node: 3, event: "output", text: "elected P4" },
      explain:
        "Watch the order at each process: its own number first, then those that it receives. All four end with the same list.",
      rules: ["R2c"],
    },
  ],
  end:
    "Every number goes round once, and every process keeps its own list. This ring costs the most, k² messages, and is the " +
    "only one that needs no announcement.",
  further: [
    { exhibit: "active-list-example-1", say: "The example of the slides" },
    { exhibit: "active-list-without-fifo", say: "When a message overtakes another" },
    { exhibit: "active-list-largest-initiator-dies", say: "How a crashed process gets elected" },
  ],
};
