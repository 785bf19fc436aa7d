import scenario from "./runs/suzuki-kasami.txt?raw";
import type { LessonBody } from "./types";
import { right, wrong } from "./write";

export const lesson: LessonBody = {
  intro:
    "Three processes and one token, which is at P1. Who wants it asks everybody. Every process counts the requests of each other " +
    "one (RN); the token knows which of them were granted (LN).",
  scenario,
  stops: [
    {
      after: { ms: 10, node: 1, event: "receive", peer: 2 },
      tell: "P2's first REQUEST has arrived at P1. P1 has the token and does not need it.",
      ask: "What does P1 do?",
      choices: [
        right("It sends the token to P2", "RN[2] is 1 and LN[2] is 0: this request was not granted yet."),
        wrong("It keeps the token until P3 has heard of the request", "P3 has nothing to do with it. Only the holder can answer."),
        wrong("It answers REPLY", "There is no REPLY. The answer is the token."),
      ],
      until: { ms: 20, node: 2, event: "output", text: "enters the section (#1)" },
      explain: "n-1 REQUESTs and one TOKEN. P2's REQUEST to P3 is still on its way: it takes 200 ms.",
      rules: ["K2"],
      sent: { REQUEST: 2, TOKEN: 1 },
    },
    {
      after: { ms: 40, node: 3, event: "output", text: "asks for the section" },
      tell: "The token went from P2 to P1. P1 has left, and P3 asks.",
      ask: "P3 does not know where the token is. Whom does it ask?",
      choices: [
        wrong("P1, the first holder", "P3 cannot know where the token is by now."),
        right("Everybody", "The holder is among them. The others only count the request."),
        wrong("P2, the last that it heard of", "P3 has not even heard P2's REQUEST."),
      ],
      until: { ms: 60, node: 3, event: "output", text: "enters the section (#3)" },
      explain: "P1 answers with the token, because RN[3] = LN[3] + 1. P2 has heard it, too, and does nothing.",
      rules: ["K1", "K2"],
      sent: { REQUEST: 6, TOKEN: 3 },
    },
    {
      after: { ms: 200, node: 3, event: "receive", peer: 2 },
      tell: "P3 has the token and does not need it. At last P2's slow REQUEST(1) arrives.",
      ask: "What does P3 do?",
      choices: [
        wrong("It sends the token to P2", "Compare: RN[2] is 1 now. What does the token say about P2?"),
        right("Nothing", "LN[2] is 1: this request was granted long ago, and P2 does not want the token."),
        wrong("It puts P2 into the token's queue", "The queue is for those that wait. Does P2 wait?"),
      ],
      until: { ms: 200, node: 3, event: "output", text: "enters the section (#4)" },
      explain: "P3 still has the token, so its next entry costs no message at all.",
      rules: ["K2", "K1"],
      sent: { REQUEST: 6, TOKEN: 3 },
    },
  ],
  end: "The token carries the memory that tells old requests from new ones. An idle holder enters for free.",
  further: [
    { exhibit: "suzuki-kasami-holder-dies", say: "The holder dies" },
    { exhibit: "suzuki-kasami-partition", say: "A partition" },
  ],
};
