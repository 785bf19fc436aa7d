import scenario from "./runs/two-generals.txt?raw";
import type { LessonBody } from "./types";
import { right, wrong } from "./write";

export const lesson: LessonBody = {
  intro:
    "Two generals attack together at dawn, or they lose. Between them lies the enemy, and every messenger may be caught. P1 has " +
    "the plan. They have agreed on three confirmations.",
  scenario,
  stops: [
    {
      after: { ms: 30, node: 1, event: "send", peer: 2 },
      tell: "P1 has sent the ORDER.",
      ask: "May P1 attack at dawn without hearing more?",
      choices: [
        wrong("Yes, it has sent the order", "The messenger may have been caught. Then P1 attacks alone."),
        right("No: it cannot know that the order arrived", "So P2 sends a confirmation."),
        wrong("Yes, if the messenger was fast", "P1 does not see whether he arrives."),
      ],
      until: { ms: 40, node: 2, event: "send", peer: 1 },
      explain: "P2 knows the plan now, and confirms.",
      rules: ["G2"],
      sent: { ORDER: 1, CONFIRM: 1 },
    },
    {
      after: { ms: 50, node: 1, event: "receive", peer: 2 },
      tell: "The confirmation arrives. Both know the plan.",
      ask: "Is everything settled?",
      choices: [
        wrong("Yes, both know the plan", "Does P2 know that P1 got the confirmation? If not, P2 must fear that P1 stays in camp."),
        right("No: P2 cannot know that its confirmation arrived", "Now P2 is where P1 was before. One more messenger is needed."),
        wrong("No, because P1 may have forgotten", "No general forgets here. The network is the problem."),
      ],
      until: { ms: 60, node: 2, event: "receive", peer: 1 },
      explain: "See the chain at each general: what he knows that the other knows, and at its end a question.",
      rules: ["G2"],
    },
    {
      after: { ms: 60, node: 2, event: "receive", peer: 1 },
      tell: "P2 has CONFIRM(2): P1 knows that P2 knows the plan.",
      ask: "Is P2 sure now that P1 attacks?",
      choices: [
        wrong("Yes, P1 knows all that it needs", "Look from P1: does P1 know that CONFIRM(2) arrived?"),
        right("No: P1 waits for CONFIRM(3)", "By their agreement, P1 attacks only if it hears that CONFIRM(2) arrived."),
        wrong("Yes, two confirmations are enough", "They have agreed on three. And with two, P1 would have sent the last one and be unsure."),
      ],
      until: { ms: 60, node: 2, event: "send", peer: 1 },
      explain: "P2 sends CONFIRM(3). It is the last one, and P2 gets no answer to it.",
      rules: ["G2"],
      sent: { CONFIRM: 3 },
    },
    {
      after: { ms: 60, node: 1, event: "drop", peer: 2 },
      tell: "P2 has sent the third confirmation, the last of the plan. It is caught.",
      ask: "What happens at dawn?",
      choices: [
        wrong("Both attack: they both know the plan", "P1 waits for the last confirmation. The rule says that without it he stays."),
        right("P2 attacks and P1 stays", "P2 has sent the last one and waits for nothing. P1 misses it."),
        wrong("Both stay", "P2 does not know that the messenger was caught."),
      ],
      until: { ms: 180, node: 2, event: "output", text: "attacks" },
      explain: "P2 attacks alone.",
      rules: ["G3"],
      sent: { ORDER: 1, CONFIRM: 3 },
    },
  ],
  end:
    "Would a fourth confirmation help? Then the fourth is the last, and if it is caught the other one attacks alone. Whatever the " +
    "number, one general sends the last messenger and cannot know whether it arrives. So no protocol can make both sure.",
  further: [
    { exhibit: "two-generals-one-more-is-no-better", say: "One more confirmation" },
    { exhibit: "two-generals-all-arrive", say: "Nothing is lost" },
  ],
};
