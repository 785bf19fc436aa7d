import scenario from "./runs/chang-roberts.txt?raw";
import type { LessonBody } from "./types";

export const lesson: LessonBody = {
  intro:
    "Five processes on a ring, clockwise 3, 1, 5, 2, 4. Each knows only its successor, not even how many there are. Nobody " +
    "coordinates yet. A single number travels instead of a list, and a number that cannot win should not travel far.",
  scenario,
  stops: [
    {
      after: { ms: 0, node: 3, event: "input" },
      tell: "P3 is the first to start an election.",
      ask: "What does it do?",
      choices: [
        {
          say: "It sends ELECTION(3) to P1, and remembers that it takes part",
          right: true,
          because: "To take part means to have sent a number. That will matter soon.",
        },
        {
          say: "It sends ELECTION(3) both ways",
          because: "The ring is one-way. Hirschberg and Sinclair's ring has two directions.",
        },
        { say: "It asks P1 who is the largest", because: "P1 knows nobody but its successor." },
      ],
      until: { ms: 0, node: 3, event: "send", peer: 1 },
      explain: "Whoever has sent a number is a participant.",
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
          because: "P1 cannot win against 3, and so has nothing to add.",
        },
        { say: "It sends ELECTION(1) as well", because: "That number could never win: 3 is alive." },
        {
          say: "It answers P3 that 3 is larger",
          because: "Nothing goes backwards on this ring, and nobody needs that answer.",
        },
      ],
      until: { ms: 10, node: 1, event: "send", peer: 5 },
      explain: "A larger number is passed on, and P1 takes part from now on.",
      rules: ["R2a"],
    },
    {
      after: { ms: 10, node: 4, event: "receive", peer: 2 },
      tell: "P2's number is at P4, which has not sent anything yet.",
      ask: "4 is larger than 2. What does P4 do?",
      choices: [
        {
          say: "It passes ELECTION(2) on, and sends ELECTION(4) besides",
          because: "2 cannot win, because 4 is alive. Why let it travel?",
        },
        {
          say: "It drops ELECTION(2)",
          because: "Then P2's election would be over, and P4 would have done nothing to be elected itself.",
        },
        { say: "It sends ELECTION(4) in its place", right: true, because: "2 cannot win any more, and 4 may." },
      ],
      until: { ms: 10, node: 4, event: "send", peer: 3 },
      explain:
        "The message goes on with a larger number in it. P4 is a participant now, though it has not noticed anything itself.",
      rules: ["R2b"],
    },
    {
      after: { ms: 20, node: 3, event: "receive", peer: 4 },
      tell: "ELECTION(4) is at P3, whose own number 3 is under way.",
      ask: "What does P3 do with it?",
      choices: [
        { say: "It passes it on", right: true, because: "4 is larger than 3: it may win, and 3 cannot." },
        {
          say: "It drops it, for P3's election is already under way",
          because: "Only smaller numbers are dropped. A larger one must not be lost.",
        },
        {
          say: "It calls its own number back",
          because: "It cannot. Somebody larger will stop it on its way; P5 has just done so.",
        },
      ],
      until: { ms: 20, node: 3, event: "send", peer: 1 },
      explain: "Participant or not, a larger number is always passed on.",
      rules: ["R2a"],
    },
    {
      after: { ms: 40, node: 5, event: "receive", peer: 1 },
      tell: "P5 got ELECTION(3) at 20 ms and sent ELECTION(5) in its place. Now ELECTION(4) comes after it.",
      ask: "What does P5 do this time?",
      choices: [
        {
          say: "It sends ELECTION(5) once more",
          because: "One 5 is under way already, and a second one would tell nobody anything.",
        },
        {
          say: "It drops the message",
          right: true,
          because: "4 cannot win, and P5, a participant, has a larger number under way.",
        },
        { say: "It passes ELECTION(4) on", because: "4 cannot win against 5. Every hop of it would be wasted." },
      ],
      until: { ms: 50, node: 3, event: "receive", peer: 4 },
      explain: "Nothing is sent for it. A single number is left on the ring: 5.",
      rules: ["R2c"],
    },
    {
      after: { ms: 50, node: 3, event: "receive", peer: 4 },
      tell: "ELECTION(5) has come as far as P3, and everybody it has met was smaller.",
      ask: "Which process will be the first to know who has won?",
      choices: [
        {
          say: "P3, which has started",
          because: "P3 sees a large number pass and cannot know whether a larger one follows.",
        },
        { say: "P5", right: true, because: "When its own number comes back, nobody on the ring was larger." },
        {
          say: "P1, the last one before P5",
          because: "P1 passes 5 on like the others. It does not know how many there are.",
        },
      ],
      until: { ms: 70, node: 5, event: "output", text: "elected P5" },
      explain: "P5 gets its own number, and only the largest ever does.",
      rules: ["R2d"],
    },
    {
      after: { ms: 70, node: 5, event: "send", peer: 2 },
      tell: "P5 has won, and sends ELECTED(5) round.",
      ask: "When is the election over?",
      choices: [
        {
          say: "At once: P5 knows it",
          because: "The others do not, and four of them still count themselves as participants.",
        },
        {
          say: "When ELECTED(5) is back at P5",
          right: true,
          because: "Five hops, and all of them have recorded it and are no participants any more.",
        },
        {
          say: "When all have answered P5",
          because: "Nobody answers. That the message comes home says that all have seen it.",
        },
      ],
      until: { ms: 120, node: 5, event: "receive", peer: 1 },
      explain:
        "11 ELECTIONs and 5 ELECTEDs. Had everybody started on a ring that falls clockwise, it would have been 15 and 5.",
      rules: ["R3"],
    },
  ],
  end:
    "A number that meets a larger process ends there. So most numbers travel a short way only, and on average k log k messages " +
    "are enough, though a bad order of the ring still costs k².",
  further: [
    { exhibit: "chang-roberts-all-start-worst", say: "The worst order of the ring" },
    { exhibit: "chang-roberts-all-start-best", say: "The best order of the ring" },
    { exhibit: "chang-roberts-initiator-dies", say: "A number that nobody can stop" },
  ],
};
