import scenario from "./runs/chang-roberts.txt?raw";
import type { LessonBody } from "./types";

export const lesson: LessonBody = {
  intro:
    "Five processes form a ring, clockwise 3, 1, 5, 2, 4. Each knows only its successor and not the size of the ring. There " +
    "is no coordinator yet. A single number travels instead of a list, and a number that cannot win should not travel far.",
  scenario,
  stops: [
    {
      after: { ms: 0, node: 3, event: "input" },
      tell: "P3 is the first to start an election.",
      ask: "What does it do?",
      choices: [
        {
          say: "It sends ELECTION(3) to P1 and remembers that it is a participant",
          right: true,
          because: "A participant is a process that has sent a number. That will matter soon.",
        },
        {
          say: "It sends ELECTION(3) both ways",
          because: "This ring has one direction. Hirschberg and Sinclair's ring has two.",
        },
        { say: "It asks P1 which process is the largest", because: "P1 knows only its successor." },
      ],
      until: { ms: 0, node: 3, event: "send", peer: 1 },
      explain: "P3 is a participant from now on.",
      rules: ["R1"],
    },
    {
      after: { ms: 10, node: 1, event: "receive", peer: 3 },
      tell: "P2 has started as well, with ELECTION(2) to P4. P3's number is at P1.",
      ask: "1 is smaller than 3. What does P1 do?",
      choices: [
        {
          say: "It passes ELECTION(3) on",
          right: true,
          because: "P1 cannot win against 3, so it does not send its own number.",
        },
        { say: "It sends ELECTION(1) as well", because: "That number could never win: P3 is live." },
        {
          say: "It answers P3 that 3 is larger",
          because: "Messages do not go backwards on this ring, and P3 does not need that answer.",
        },
      ],
      until: { ms: 10, node: 1, event: "send", peer: 5 },
      explain: "A larger number is passed on, and P1 is a participant from now on.",
      rules: ["R2a"],
    },
    {
      after: { ms: 10, node: 4, event: "receive", peer: 2 },
      tell: "P2's number is at P4, which has not sent a number yet.",
      ask: "4 is larger than 2. What does P4 do?",
      choices: [
        {
          say: "It passes ELECTION(2) on and also sends ELECTION(4)",
          because: "2 cannot win, because P4 is live. Passing it on would waste messages.",
        },
        {
          say: "It drops ELECTION(2)",
          because: "Then P2's election would end without a winner, because P4 has not sent its own number.",
        },
        { say: "It sends ELECTION(4) in its place", right: true, because: "2 cannot win any more, but 4 can." },
      ],
      until: { ms: 10, node: 4, event: "send", peer: 3 },
      explain:
        "The message goes on with a larger number. P4 is a participant now, although it did not start an election.",
      rules: ["R2b"],
    },
    {
      after: { ms: 20, node: 3, event: "receive", peer: 4 },
      tell: "ELECTION(4) is at P3, whose own number 3 is under way.",
      ask: "What does P3 do with it?",
      choices: [
        { say: "It passes it on", right: true, because: "4 is larger than 3: it can win, and 3 cannot." },
        {
          say: "It drops it, because P3's own election has started",
          because: "Only smaller numbers are dropped. A larger number must not be lost.",
        },
        {
          say: "It recalls its own number",
          because: "It cannot. A larger process stops that number on its way: P5 has just done so.",
        },
      ],
      until: { ms: 20, node: 3, event: "send", peer: 1 },
      explain: "Participant or not, a larger number is always passed on.",
      rules: ["R2a"],
    },
    {
      after: { ms: 40, node: 5, event: "receive", peer: 1 },
      tell: "P5 received ELECTION(3) at 20 ms and sent ELECTION(5) in its place. Now it receives ELECTION(4).",
      ask: "What does P5 do this time?",
      choices: [
        {
          say: "It sends ELECTION(5) once more",
          because: "ELECTION(5) is under way already. A second one would add nothing.",
        },
        {
          say: "It drops the message",
          right: true,
          because: "4 cannot win, and P5 is a participant: its larger number is under way.",
        },
        { say: "It passes ELECTION(4) on", because: "4 cannot win against 5. Every further hop would be wasted." },
      ],
      until: { ms: 50, node: 3, event: "receive", peer: 4 },
      explain: "P5 sends nothing. Only one number is left on the ring: 5.",
      rules: ["R2c"],
    },
    {
      after: { ms: 50, node: 3, event: "receive", peer: 4 },
      tell: "ELECTION(5) has reached P3, and every process on its way was smaller.",
      ask: "Which process learns first that it has won?",
      choices: [
        {
          say: "P3, which started first",
          because: "P3 passes a large number on and cannot know whether a larger one follows.",
        },
        { say: "P5", right: true, because: "When its own number returns, no process on the ring is larger." },
        {
          say: "P1, the last process before P5",
          because: "P1 passes 5 on like the others. It does not know the size of the ring.",
        },
      ],
      until: { ms: 70, node: 5, event: "output", text: "elected P5" },
      explain: "P5 receives its own number. Only the largest process ever does.",
      rules: ["R2d"],
    },
    {
      after: { ms: 70, node: 5, event: "send", peer: 2 },
      tell: "P5 has won and sends ELECTED(5) round the ring.",
      ask: "When is the election over?",
      choices: [
        {
          say: "Now, because P5 knows the result",
          because: "The other four do not, and still consider themselves participants.",
        },
        {
          say: "When ELECTED(5) is back at P5",
          right: true,
          because: "After five hops all have recorded the result and are no longer participants.",
        },
        {
          say: "When all have answered P5",
          because: "No process answers. When the message returns to P5, all have seen it.",
        },
      ],
      until: { ms: 120, node: 5, event: "receive", peer: 1 },
      explain:
        "It took 11 ELECTIONs and 5 ELECTEDs. If all had started on a ring with clockwise falling numbers, it would be 15 and 5.",
      rules: ["R3"],
    },
  ],
  end:
    "A number that reaches a larger process ends there. So most numbers travel only a short way, and k log k messages are " +
    "enough on average, although a bad order of the ring still costs k².",
  further: [
    { exhibit: "chang-roberts-all-start-worst", say: "The worst order of the ring" },
    { exhibit: "chang-roberts-all-start-best", say: "The best order of the ring" },
    { exhibit: "chang-roberts-initiator-dies", say: "A number that no process can stop" },
  ],
};
