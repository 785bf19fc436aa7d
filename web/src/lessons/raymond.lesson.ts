import scenario from "./runs/raymond.txt?raw";
import type { LessonBody } from "./types";
import { right, wrong } from "./write";

export const lesson: LessonBody = {
  intro:
    "Seven processes in a tree: P1 at the top, P2 and P3 below it, and P4 to P7 below those. The token is at P1. Each process has " +
    "one arrow: the neighbour on whose side the token is.",
  scenario,
  stops: [
    {
      after: { ms: 0, node: 5, event: "output", text: "asks for the section" },
      tell: "P5 wants to enter. Its arrow points to P2.",
      ask: "Whom does P5 ask?",
      choices: [
        wrong("P1, which has the token", "P5 does not know where the token is. It knows a direction."),
        right("P2", "It follows its arrow. P2 then asks in its own name."),
        wrong("All six others", "That is what a tree saves."),
      ],
      until: { ms: 10, node: 2, event: "send", peer: 1 },
      explain: "P2 puts P5 into its queue and asks P1.",
      rules: ["RM3", "RM4", "RM2"],
      sent: { REQUEST: 2 },
    },
    {
      after: { ms: 30, node: 2, event: "receive", peer: 1 },
      tell: "The token has come to P2, and P5 is first in P2's queue.",
      ask: "Where does P2's arrow point after it has passed the token on?",
      choices: [
        wrong("Still to P1", "The arrow says on whose side the token is. Where does the token go?"),
        right("To P5", "Every edge that the token passes turns round, so all arrows lead to it again."),
        wrong("To itself", "Only while it has the token."),
      ],
      until: { ms: 40, node: 5, event: "output", text: "enters the section (#1)" },
      explain: "Look at the tree: P1 points to P2, P2 to P5. From everywhere the arrows lead to P5.",
      rules: ["RM5", "RM1"],
      sent: { REQUEST: 2, PRIVILEGE: 2 },
    },
    {
      after: { ms: 71, node: 2, event: "receive", peer: 4 },
      tell: "P7 has asked by way of P3 and P1, so P2 has P1 in its queue and has asked P5. Now P4 asks P2, too.",
      ask: "What does P2 send to P5?",
      choices: [
        wrong("A second REQUEST, for P4", "P2 has already asked. What would a second REQUEST change?"),
        right("Nothing", "It has asked once. P4 stands in its queue behind P1."),
        wrong("The name of P4", "P5 knows no process but its neighbour P2."),
      ],
      until: { ms: 90, node: 2, event: "send", peer: 1, text: "PRIVILEGE" },
      explain: "When P5 leaves, the token goes to P2 and on to P1. P2 still has P4 in its queue and sends a REQUEST after it.",
      rules: ["RM4", "RM6", "RM1"],
    },
    {
      after: { ms: 120, node: 7, event: "output", text: "leaves the section" },
      tell: "P7 leaves. P4 still waits.",
      ask: "Over how many edges does the token travel from P7 to P4?",
      choices: [
        wrong("2", "P7 to P3 to P1. P4 is on the other side of the tree."),
        right("4", "P7, P3, P1, P2, P4: the distance in the tree."),
        wrong("6", "The tree has six edges. Which of them lie between P7 and P4?"),
      ],
      until: { ms: 160, node: 4, event: "output", text: "enters the section (#3)" },
      explain: "An entry costs twice the distance to the token: with n processes about log n, where asking everybody costs n.",
      rules: ["RM5", "RM1"],
      sent: { REQUEST: 10, PRIVILEGE: 10 },
    },
  ],
  end: "Only its holder knows where the token is, yet every request finds it. Knowing a direction is enough.",
  further: [
    { exhibit: "raymond-pointers-turn-round", say: "The same run, yours to break" },
    { exhibit: "raymond-inner-process-dies", say: "An inner process dies" },
  ],
};
