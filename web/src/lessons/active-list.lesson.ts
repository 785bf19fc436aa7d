import scenario from "./runs/active-list.txt?raw";
import type { LessonBody } from "./types";

export const lesson: LessonBody = {
  intro:
    "P1, P2, P3 and P4 stand on a ring, and each sends only to the next. No message carries a list here: every process sends " +
    "its own number round once, and keeps a list of the numbers that pass by. P4 coordinates, and is about to fail, and P1 " +
    "with it.",
  scenario,
  stops: [
    {
      after: { ms: 0, node: 2, event: "input" },
      tell: "P1 and P4 have crashed. P2 has noticed that P4 does not answer.",
      ask: "What does P2 do?",
      choices: [
        {
          say: "It begins a list with 2 on it, and sends ELECT(2) to P3",
          right: true,
          because: "The list stays at home; only the number travels.",
        },
        {
          say: "It sends the list [2] to P3",
          because: "That is the other ring algorithm. Here nobody sends a list, everybody keeps one.",
        },
        {
          say: "It sends ELECT(2) to P3 and P4",
          because: "On a ring it sends to the next only. Who comes after that is the next one's business.",
        },
      ],
      until: { ms: 0, node: 2, event: "send", peer: 3 },
      explain: "P2's number is on its way. When it is back, it has passed everybody who is alive.",
      rules: ["R1"],
    },
    {
      after: { ms: 10, node: 3, event: "receive", peer: 2 },
      tell: "ELECT(2) is the first that P3 sees of this election. Its list is [3,2] now.",
      ask: "What does P3 send on?",
      choices: [
        {
          say: "ELECT(3) alone, for 3 is larger",
          because: "2 has to come home, too, or P2 would never know that its list is complete.",
        },
        {
          say: "ELECT(2), then ELECT(3)",
          because: "The order matters. P2 stops collecting when 2 is home, and would miss a 3 that comes behind it.",
        },
        {
          say: "ELECT(3), then ELECT(2)",
          right: true,
          because: "Whoever gets ELECT(2) back has seen 3 before it, and so nobody is missed.",
        },
      ],
      until: { ms: 10, node: 3, event: "send", peer: 4, text: "ELECT(2)" },
      explain:
        "The own number goes first. This only helps if no message overtakes another, which is why channels must be FIFO.",
      rules: ["R2a"],
    },
    {
      after: { ms: 220, node: 2, event: "receive", peer: 3, text: "ELECT(3) (again)" },
      tell: "To get past P4 and P1 has cost P3 two waits of 100 ms. Now ELECT(3) is at P2.",
      ask: "P2 sees a larger number than its own. What does it do?",
      choices: [
        {
          say: "It follows P3 from now on",
          because: "Somebody larger still may come. P2 knows all of them only when its own number is home.",
        },
        {
          say: "It adds 3 to its list, and passes it on",
          right: true,
          because: "P3 has to get its number back as well.",
        },
        {
          say: "It drops it, for it has heard of nobody larger before",
          because: "Nothing is dropped here. Everybody's number goes all the way round.",
        },
      ],
      until: { ms: 220, node: 2, event: "send", peer: 3, text: "ELECT(3)" },
      explain: "P2's list is [2,3].",
      rules: ["R2b"],
    },
    {
      after: { ms: 220, node: 2, event: "receive", peer: 3, text: "ELECT(2) (again)" },
      tell: "P2's own number is home, and its list is [2,3].",
      ask: "What now?",
      choices: [
        {
          say: "P2 elects P3, and announces it to the others",
          because: "No announcement is needed. The others have lists, too.",
        },
        {
          say: "P2 elects P3, and tells nobody",
          right: true,
          because: "Everybody whose own number comes home has the same list, and comes to the same result.",
        },
        { say: "P2 waits until P3 says that it has won", because: "P2 knows all that P3 can know." },
      ],
      until: { ms: 230, node: 3, event: "output", text: "elected P3" },
      explain:
        "P3 comes to the same result 10 ms later, when ELECT(3) is home. Two processes, two numbers, two hops each: 4 messages.",
      rules: ["R2c"],
    },
    {
      after: { ms: 330, node: 1, event: "recover" },
      tell: "P1 is back, and does not know who coordinates.",
      ask: "How does it find out?",
      choices: [
        {
          say: "It starts an election",
          because: "It could, but that would send everybody's number round. There is a cheaper way to ask.",
        },
        {
          say: "It sends a question round the ring",
          right: true,
          because: "Somebody on the ring is the coordinator, and can answer.",
        },
        { say: "It waits for the next election", because: "There may be none for a long time." },
      ],
      until: { ms: 360, node: 1, event: "output", text: "elected P3" },
      explain:
        "INQUIRY(1) passes P2 and comes to P3, which coordinates and sends REPLY(3) on round. 3 is larger than 1, so P1 is content.",
      rules: ["R3"],
    },
    {
      after: { ms: 490, node: 4, event: "receive", peer: 3, text: "REPLY(3)" },
      tell: "P4 is back, too, and has asked the same. The answer is: P3.",
      ask: "What does P4 do?",
      choices: [
        {
          say: "It follows P3, as P1 did",
          because: "P1 was smaller than the answer. P4 is larger, and the largest should coordinate.",
        },
        {
          say: "It starts an election",
          right: true,
          because: "4 is larger than 3, so P3 should not coordinate any longer.",
        },
        { say: "It announces itself", because: "This algorithm knows no announcements. Numbers have to go round." },
      ],
      until: { ms: 490, node: 4, event: "send", peer: 1, text: "ELECT(4)" },
      explain: "Whoever comes back and is larger than the coordinator starts an election.",
      rules: ["R3", "R1"],
    },
    {
      after: { ms: 490, node: 4, event: "send", peer: 1, text: "ELECT(4)" },
      tell: "All four are alive now, and P4's ELECT is the first of this election.",
      ask: "How many ELECTs will be sent until it is over?",
      choices: [
        {
          say: "4, for P4's number makes four hops",
          because: "So it does. And each of the others sends its own number as well.",
        },
        {
          say: "8: one round to collect, one to tell",
          because: "That is the cost of the list in the message. Here nobody tells, and everybody collects.",
        },
        {
          say: "16: four numbers, four hops each",
          right: true,
          because: "k numbers go round once over k hops: k², however many start.",
        },
      ],
      until: { ms: 560, node: 3, event: "output", text: "elected P4" },
      explain:
        "Watch the order at each process: its own number, then those that come by. All four end with the list of all four.",
      rules: ["R2c"],
    },
  ],
  end:
    "Everybody's number goes round once, and everybody counts for itself. It is the dearest of the rings, k² messages, and the " +
    "only one that needs no announcement.",
  further: [
    { exhibit: "active-list-example-1", say: "The slides' example on its own" },
    { exhibit: "active-list-without-fifo", say: "When a message overtakes another" },
    { exhibit: "active-list-largest-initiator-dies", say: "How a dead process gets elected" },
  ],
};
