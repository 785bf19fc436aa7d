import scenario from "./runs/causal-broadcast.txt?raw";
import type { LessonBody } from "./types";
import { right, wrong } from "./write";

export const lesson: LessonBody = {
  intro:
    "P1 asks a question, to all. P2 answers it, to all. The way from P1 to P3 is slow, so P3 gets the answer before the question. " +
    "Each message carries how many messages of each process its sender had delivered.",
  scenario,
  stops: [
    {
      after: { ms: 0, node: 1, event: "send", peer: 3 },
      tell: "P1's question is on its way with the vector [1,0,0].",
      ask: "When does P1 deliver its own message?",
      choices: [
        right("At once", "It depends on nothing that P1 has not delivered."),
        wrong("When all others have it", "Causal order asks for less: no effect before its cause."),
        wrong("When the answer comes", "The answer depends on the question, not the other way round."),
      ],
      until: { ms: 10, node: 2, event: "output", text: "delivers P1#1" },
      explain: "P2 delivers it, too: it is the next of P1, and nothing else is required.",
      rules: ["C3"],
      sent: { CBCAST: 2 },
    },
    {
      after: { ms: 20, node: 2, event: "output", text: "broadcasts P2#1" },
      tell: "P2 answers.",
      ask: "Which vector does the answer carry?",
      choices: [
        wrong("[0,1,0]", "That would say: it depends on nothing. But P2 had read the question."),
        right("[1,1,0]", "One message of P1 delivered, and this is P2's first."),
        wrong("[2,0,0]", "The second place counts P2's messages."),
      ],
      until: { ms: 20, node: 2, event: "output", text: "delivers P2#1" },
      explain: "The vector says what must be delivered before: here one message of P1.",
      rules: ["C1"],
    },
    {
      after: { ms: 30, node: 3, event: "receive", peer: 2 },
      tell: "The answer has reached P3. The question has not.",
      ask: "What does P3 do?",
      choices: [
        wrong("It delivers the answer", "The vector says that one message of P1 comes before it. P3 has delivered none."),
        right("It holds the answer back", "[1,1,0] asks for one message of P1, and P3 has delivered 0."),
        wrong("It asks P1 for the question", "No need: the question will come. P3 only has to wait."),
      ],
      until: { ms: 30, node: 3, event: "output", text: "holds P2#1 back" },
      explain: "Look at P3: the message stands there with what it needs first.",
      rules: ["C2"],
    },
    {
      after: { ms: 50, node: 3, event: "receive", peer: 1 },
      tell: "At last the question arrives.",
      ask: "What does P3 deliver now, and in which order?",
      choices: [
        wrong("The question only", "Something waited for just this."),
        right("The question, then the answer", "Delivering the question makes the answer deliverable."),
        wrong("The answer, then the question", "That order is what the algorithm is there to prevent."),
      ],
      until: { ms: 50, node: 3, event: "output", text: "delivers P2#1" },
      explain: "Two broadcasts, n-1 messages each, and no message was asked for again.",
      rules: ["C3"],
      sent: { CBCAST: 4 },
    },
  ],
  end: "Vectors say what a message depends on. Messages that depend on nothing common may still be delivered in different orders.",
  further: [
    { exhibit: "causal-broadcast-unordered", say: "The same without holding back" },
    { exhibit: "causal-broadcast-concurrent", say: "Two messages that do not depend on each other" },
  ],
};
