import scenario from "./runs/peterson.txt?raw";
import type { LessonBody } from "./types";

export const lesson: LessonBody = {
  intro:
    "Four processes form a ring with one direction, clockwise 1, 3, 2, 4. All start at once. Each would like to compare its " +
    "number with those of both neighbours, but messages go in one direction only. The trick: each process looks at the two " +
    "before it and goes on with the number of the middle one.",
  scenario,
  stops: [
    {
      after: { ms: 10, node: 3, event: "receive", peer: 1 },
      tell: "Every process is active, holds its own number and has sent it as FIRST. P1's FIRST is at P3.",
      ask: "P3 holds 3 and has received FIRST(1). What does it send next?",
      choices: [
        {
          say: "FIRST(1), after its own FIRST",
          because: "Only passive processes pass numbers on unchanged. P3 is active.",
        },
        {
          say: "SECOND(3), the larger of the two",
          right: true,
          because: "So the next process learns the larger number of the two before it.",
        },
        {
          say: "SECOND(1), the number that it received",
          because: "The larger of the two is sent: what matters is whether a neighbour beats the middle number.",
        },
      ],
      until: { ms: 10, node: 3, event: "send", peer: 2 },
      explain: "FIRST is the number of the predecessor. SECOND is the larger number of the two predecessors.",
      rules: ["R2"],
    },
    {
      after: { ms: 20, node: 2, event: "receive", peer: 3 },
      tell: "P2 holds 2. Its active predecessor holds 3 (FIRST), and the larger number of the two predecessors is 3, too (SECOND).",
      ask: "Of the three numbers in a row, 1, 3 and 2, the middle one is the largest. What does P2 do?",
      choices: [
        {
          say: "It becomes passive, because 3 is larger than 2",
          because: "Then no process would hold 3 any more: P3 itself will become passive.",
        },
        {
          say: "It stays active with the number 3",
          right: true,
          because: "Only P2 can see that 3 beats both of its neighbours, so P2 takes over the number.",
        },
        { say: "It stays active with its own number", because: "2 has lost to 3 already." },
      ],
      until: { ms: 20, node: 2, event: "send", peer: 4 },
      explain: "In every phase, numbers move on by one active process. P2 is in the second phase, with 3.",
      rules: ["R3", "R1"],
    },
    {
      after: { ms: 20, node: 4, event: "receive", peer: 2 },
      tell: "P4 holds 4, the largest number of all. FIRST was 2, SECOND is 3.",
      ask: "What does P4 do?",
      choices: [
        {
          say: "It stays active, because 4 is the largest",
          because: "P4 judges its predecessor's number, 2, and not its own. And 2 is not the largest of the three.",
        },
        {
          say: "It becomes passive and only relays from now on",
          right: true,
          because: "Its predecessor's number, 2, has lost. P4's own number is not lost: P1 takes it over.",
        },
        { say: "It announces itself", because: "P4 cannot know that 4 is the largest number of all." },
      ],
      until: { ms: 20, node: 1, event: "send", peer: 3 },
      explain: "At the same moment P1 sees 2, 4, 1 in a row and stays active with 4. A number can win without its owner.",
      rules: ["R3"],
    },
    {
      after: { ms: 30, node: 4, event: "receive", peer: 2 },
      tell: "P3 is passive, too. P1, with 4, and P2, with 3, are in the second phase. P2's FIRST(3) is at P4.",
      ask: "What does P4 do with it?",
      choices: [
        {
          say: "It passes it on",
          right: true,
          because: "A passive process only relays, so the active processes seem to be neighbours.",
        },
        { say: "It drops it, because 4 is larger", because: "P4 is passive and compares nothing any more." },
        { say: "It sends SECOND(4)", because: "Only active processes send SECOND. P4 is passive." },
      ],
      until: { ms: 30, node: 4, event: "send", peer: 1 },
      explain:
        "The way from one active process to the next is longer now, but there are half as many: a phase always costs 2k messages.",
      rules: ["R5"],
    },
    {
      after: { ms: 60, node: 2, event: "receive", peer: 3 },
      tell: "The second phase ends. P2 holds 3, and its predecessor holds 4. P1 holds 4, and its predecessor holds 3.",
      ask: "Which processes are active in the third phase?",
      choices: [
        {
          say: "P1, with 4",
          because: "P1 judges its predecessor's number: 3 is not the largest. So P1 becomes passive, although it holds 4.",
        },
        { say: "P2, with 4", right: true, because: "P2's predecessor holds 4, and no neighbour beats it. P2 takes over the number." },
        { say: "Both of them", because: "Of two neighbours, at most one stays active." },
      ],
      until: { ms: 60, node: 1, event: "receive", peer: 4 },
      explain: "P2 stays active with 4. P1 is passive now.",
      rules: ["R3", "R1"],
    },
    {
      after: { ms: 70, node: 4, event: "receive", peer: 2 },
      tell: "P2 is the only active process left and has sent FIRST(4). It does not know that it is alone.",
      ask: "How does it find out?",
      choices: [
        {
          say: "P1 tells it that P1 is passive",
          because: "Passive processes only pass messages on. They send none of their own.",
        },
        {
          say: "It receives FIRST(4), the number that it holds itself",
          right: true,
          because: "P2 is its own active predecessor: its number has gone all the way round.",
        },
        { say: "It gets no answer until a time-out", because: "This algorithm has no time-outs." },
      ],
      until: { ms: 100, node: 2, event: "output", text: "elected P4" },
      explain: "A FIRST with the own number means that no other process is active, so 4 is the largest.",
      rules: ["R2"],
    },
    {
      after: { ms: 100, node: 2, event: "output", text: "elected P4" },
      tell: "P2 knows that 4 is the largest number.",
      ask: "Which process will be the coordinator?",
      choices: [
        { say: "P2, which found the largest number", because: "P2 holds the number 4, but 4 belongs to P4." },
        {
          say: "P4, whose number it is",
          right: true,
          because: "P2 only announces it. P4 has been passive since 20 ms and becomes the coordinator all the same.",
        },
        { say: "P1, which held 4 before", because: "P1 held the number for one phase, as P2 does now." },
      ],
      until: { ms: 140, node: 2, event: "receive", peer: 3 },
      explain:
        "ELECTED(4) goes round once. In all: 12 FIRSTs, 8 SECONDs and 4 ELECTEDs, the most that four processes can need.",
      rules: ["R4"],
    },
  ],
  end:
    "In each phase at most half of the active processes stay active, so log k phases of 2k messages are enough: with one " +
    "direction, and in the worst case.",
  further: [
    { exhibit: "peterson-worked-run", say: "The same run, yours to break" },
    { exhibit: "check-peterson-time-outs-lie", say: "When live neighbours are considered down" },
    { exhibit: "hirschberg-sinclair-worked-run", say: "The same cost with two directions" },
  ],
};
