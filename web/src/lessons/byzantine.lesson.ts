import scenario from "./runs/byzantine.txt?raw";
import type { LessonBody } from "./types";
import { right, wrong } from "./write";

export const lesson: LessonBody = {
  intro:
    "Four processes have the values a, b, c and d and want to agree on a vector of all four. P3 is a traitor: it tells each " +
    "something else. You know that; the others do not.",
  scenario,
  stops: [
    {
      after: { ms: 30, node: 4, event: "send", peer: 3 },
      tell: "In round 1 everybody tells everybody its value. P3 said c to P1, and d to P2 and P4.",
      ask: "Can P1 see that P3 lies?",
      choices: [
        wrong("Yes: c is P3's true value", "P1 does not know P3's value. It hears c and nothing to compare it with."),
        right("No: it has heard only one word from P3", "A lie shows only when words are compared."),
        wrong("Yes, because P3 answered late", "All messages came in time."),
      ],
      until: { ms: 60, node: 1, event: "send", peer: 3, text: "RELAY(4: d)" },
      explain: "So in round 2 everybody passes on what it has heard.",
      rules: ["B2"],
      sent: { VALUE: 12 },
    },
    {
      after: { ms: 70, node: 2, event: "receive", peer: 4, text: "RELAY(3: d)" },
      tell: "P2 has three words about P3's value: d from P3 itself, c by way of P1, and d by way of P4.",
      ask: "What does P2 put down for P3?",
      choices: [
        wrong("c, P3's true value", "P2 does not know the truth. It has three words: c, d and d."),
        right("d, the majority", "P1 and P4 have the same three words, so they put down the same."),
        wrong("nil, because the words differ", "Nil is for words without a majority. Count them."),
      ],
      until: { ms: 90, node: 2, event: "output", text: "decides on (a, b, d, d)" },
      explain: "It is not P3's value. But all honest processes have the same, and that is what was asked for.",
      rules: ["B4"],
    },
    {
      after: { ms: 90, node: 3, event: "output", text: "has told its lies, 9 messages" },
      tell: "About P1's value P4 heard a from P1, a by way of P2, and b by way of P3, which lied.",
      ask: "What does P4 put down for P1?",
      choices: [
        right("a", "Two honest words against one lie: the value of an honest process always wins."),
        wrong("b", "Count the words: a, a and b."),
        wrong("It cannot decide", "Two of three is a majority."),
      ],
      until: { ms: 90, node: 4, event: "output", text: "decides on (a, b, d, d)" },
      explain: "With three processes there would be one word against one, and no general could tell who lies.",
      rules: ["B4"],
      sent: { VALUE: 12, RELAY: 24 },
    },
  ],
  end: "To bear m traitors takes 3m + 1 processes and m + 1 rounds. Three processes cannot bear even one.",
  further: [
    { exhibit: "byzantine-three-are-too-few", say: "Three are too few" },
    { exhibit: "byzantine-silent-is-nil", say: "A traitor that says nothing" },
  ],
};
