import scenario from "./runs/peterson.txt?raw";
import type { LessonBody } from "./types";

export const lesson: LessonBody = {
  intro:
    "Four processes on a one-way ring, clockwise 1, 3, 2, 4. All start at once. It would be easy to let each compare itself " +
    "with both neighbours, but messages go in one direction only. The trick: each looks at the two before it, and plays on in " +
    "the name of the middle one.",
  scenario,
  stops: [
    {
      after: { ms: 10, node: 3, event: "receive", peer: 1 },
      tell: "Everybody is active, holds its own number and has sent it as FIRST. P1's is at P3.",
      ask: "P3 holds 3 and has got FIRST(1). What does it send next?",
      choices: [
        {
          say: "FIRST(1), for its own went before",
          because: "Only those that are out pass numbers on as they are. P3 is active and plays.",
        },
        {
          say: "SECOND(3), the larger of the two",
          right: true,
          because: "So the next one learns what the two before it have, at least the larger of it.",
        },
        {
          say: "SECOND(1), the one it got",
          because: "The larger of the two is sent: whether somebody beats the middle one is all that matters.",
        },
      ],
      until: { ms: 10, node: 3, event: "send", peer: 2 },
      explain: "FIRST is the number of the one before, SECOND the larger of that and the one before that.",
      rules: ["R2"],
    },
    {
      after: { ms: 20, node: 2, event: "receive", peer: 3 },
      tell: "P2 holds 2. The active one before it holds 3 (FIRST), and the larger of that and the next is 3 as well (SECOND).",
      ask: "Of the three in a row, 1, 3 and 2, the middle one is the largest. What does P2 do?",
      choices: [
        {
          say: "It drops out, because 3 is larger than 2",
          because: "Then 3 would have nobody to speak for it: P3 itself is going to drop out.",
        },
        {
          say: "It plays on, with the number 3",
          right: true,
          because: "P2 is the one that can see that 3 beats both of its neighbours, so P2 carries it on.",
        },
        { say: "It plays on, with its own number", because: "2 has lost to 3 already." },
      ],
      until: { ms: 20, node: 2, event: "send", peer: 4 },
      explain: "Numbers move on by one active process in every phase. P2 is in the second phase, with 3.",
      rules: ["R3", "R1"],
    },
    {
      after: { ms: 20, node: 4, event: "receive", peer: 2 },
      tell: "P4 holds 4, the largest of all. FIRST was 2, SECOND is 3.",
      ask: "What becomes of P4?",
      choices: [
        {
          say: "It plays on, for 4 is the largest",
          because: "P4 judges the one before it, 2, and not itself. And 2 is not the largest of the three.",
        },
        {
          say: "It drops out, and only relays from now on",
          right: true,
          because: "The one before it, 2, has lost. P4's own number is in good hands: P1 has it.",
        },
        { say: "It announces itself", because: "P4 cannot know that 4 is the largest of all." },
      ],
      until: { ms: 20, node: 1, event: "send", peer: 3 },
      explain: "At the same moment P1 sees 2, 4, 1 in a row and plays on with 4. A number needs no owner to win.",
      rules: ["R3"],
    },
    {
      after: { ms: 30, node: 4, event: "receive", peer: 2 },
      tell: "P3 has dropped out, too. P1, with 4, and P2, with 3, play the second phase. P2's FIRST(3) is at P4.",
      ask: "What does P4 do with it?",
      choices: [
        {
          say: "It passes it on",
          right: true,
          because: "Who is out only relays, so that the active ones seem to stand next to each other.",
        },
        { say: "It drops it, because 4 is larger", because: "P4 is out and compares nothing any more." },
        { say: "It sends SECOND(4)", because: "That is for active processes. P4 is none." },
      ],
      until: { ms: 30, node: 4, event: "send", peer: 1 },
      explain:
        "A hop from one active process to the next is longer now, but there are half as many: a phase always costs 2k messages.",
      rules: ["R5"],
    },
    {
      after: { ms: 60, node: 2, event: "receive", peer: 3 },
      tell: "The second phase ends. P2 holds 3, and before it stands 4. P1 holds 4, and before it stands 3.",
      ask: "Who is left for the third phase?",
      choices: [
        {
          say: "P1, with 4",
          because: "P1 judges the one before it: 3 is not the largest. It is out, although it holds the 4.",
        },
        { say: "P2, with 4", right: true, because: "The one before P2 holds 4, which nobody beats. P2 carries it on." },
        { say: "Both of them", because: "Of two neighbours never more than one goes on." },
      ],
      until: { ms: 60, node: 1, event: "receive", peer: 4 },
      explain: "P2 plays on with 4. P1 has become a relay.",
      rules: ["R3", "R1"],
    },
    {
      after: { ms: 70, node: 4, event: "receive", peer: 2 },
      tell: "P2 is the only active process left and has sent FIRST(4). It does not know that it is alone.",
      ask: "How does it find out?",
      choices: [
        {
          say: "P1 tells it that it has dropped out",
          because: "Nobody tells. Relays pass on what comes and say nothing of their own.",
        },
        {
          say: "It gets FIRST(4), the number that it holds itself",
          right: true,
          because: "The active one before P2 is P2: its number has gone all the way round.",
        },
        { say: "It gets no answer until a time-out", because: "There are no time-outs in this algorithm." },
      ],
      until: { ms: 100, node: 2, event: "output", text: "elected P4" },
      explain: "FIRST with the own number means that nobody else is active, and so 4 is the largest.",
      rules: ["R2"],
    },
    {
      after: { ms: 100, node: 2, event: "output", text: "elected P4" },
      tell: "P2 knows that 4 is the largest number.",
      ask: "Which process will coordinate?",
      choices: [
        { say: "P2, which has found out", because: "P2 holds the number 4, but it is not its own." },
        {
          say: "P4, whose number it is",
          right: true,
          because: "P2 only announces it. P4 has been a relay since 20 ms and coordinates all the same.",
        },
        { say: "P1, which held 4 before", because: "P1 carried the number for a while, as P2 does now." },
      ],
      until: { ms: 140, node: 2, event: "receive", peer: 3 },
      explain:
        "ELECTED(4) goes round once: 12 FIRSTs, 8 SECONDs and 4 ELECTEDs, the most that four processes can need.",
      rules: ["R4"],
    },
  ],
  end:
    "In each phase at most half of the active ones go on, so log k phases of 2k messages are enough, in one direction and in " +
    "the worst case.",
  further: [
    { exhibit: "peterson-worked-run", say: "The same run, yours to break" },
    { exhibit: "check-peterson-time-outs-lie", say: "When live neighbours are taken for dead" },
    { exhibit: "hirschberg-sinclair-worked-run", say: "The same cost with two directions" },
  ],
};
