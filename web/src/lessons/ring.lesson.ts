import scenario from "./runs/ring.txt?raw";
import type { LessonBody } from "./types";

export const lesson: LessonBody = {
  intro:
    "Six processes form a ring, clockwise 3, 5, 0, 1, 4, 6, and each sends only to the next. P6 is the coordinator and is " +
    "about to fail. No process can ask all others here: a message has to go round the ring and collect the live processes.",
  scenario,
  stops: [
    {
      after: { ms: 0, node: 3, event: "input" },
      tell: "P6 has crashed, and P3 has noticed.",
      ask: "P3 starts an election. What does it send?",
      choices: [
        {
          say: "A list with its own number, to P5",
          right: true,
          because: "The list grows on its way. Its first entry says which process started it.",
        },
        {
          say: "ELECTION to each larger process",
          because: "That would be bully. On this ring P3 reaches only its successor, P5.",
        },
        { say: "A list of all six, to P5", because: "P3 does not know which of the six are live." },
      ],
      until: { ms: 0, node: 3, event: "send", peer: 5 },
      explain: "ELECTION [3] goes to the next on the ring.",
      rules: ["R1"],
    },
    {
      after: { ms: 10, node: 5, event: "receive", peer: 3 },
      tell: "P1 has started its own election at the same moment; ignore it for now. P3's list is at P5.",
      ask: "5 is larger than 3. What does P5 do with the list?",
      choices: [
        {
          say: "It replaces 3 by 5",
          because:
            "Chang and Roberts do that. Here the list keeps every number, so that in the end all know which processes are live.",
        },
        {
          say: "It adds 5 and passes the list on",
          right: true,
          because: "Every process adds its number, large or small. The winner is determined at the end.",
        },
        {
          say: "It keeps the list and announces itself",
          because: "P5 cannot know whether a larger process follows on the ring.",
        },
      ],
      until: { ms: 10, node: 5, event: "send", peer: 0 },
      explain:
        "The list is [3,5] now. P5 also acknowledges it to P3: on this ring, a missing acknowledgement means that the successor is down.",
      rules: ["R2"],
    },
    {
      after: { ms: 30, node: 1, event: "receive", peer: 0 },
      tell: "P3's list, [3,5,0], has reached P1, whose own list is under way.",
      ask: "What does P1 do with P3's list?",
      choices: [
        {
          say: "It drops it, because one election is enough",
          because: "Then P3's list would never return. And P1 might crash before its own list returns.",
        },
        {
          say: "It adds its number, like every other process",
          right: true,
          because: "Both lists collect the same processes, so both elections have the same winner.",
        },
        {
          say: "It merges the two lists",
          because: "That is not necessary. Two lists cost more messages and do no harm.",
        },
      ],
      until: { ms: 30, node: 1, event: "send", peer: 4 },
      explain: "P1 handles another process's list in the same way, whether it has started its own election or not.",
      rules: ["R2"],
    },
    {
      after: { ms: 50, node: 6, event: "drop", peer: 4 },
      tell: "P4 has sent both lists to its successor P6: [1,4] at 10 ms, and now [3,5,0,1,4]. P6 is down.",
      ask: "How do the lists get any further?",
      choices: [
        {
          say: "P4 waits T for an acknowledgement and then sends them to the next process, P3",
          right: true,
          because: "P4 gets no acknowledgement within T, considers P6 down and skips it.",
        },
        {
          say: "P3 notices that its list is missing and asks P4",
          because: "P3 does not know where its list is. It might also be at P0.",
        },
        {
          say: "They are lost, and another election starts",
          because: "That is not necessary: P4 knows which messages it has sent without an acknowledgement.",
        },
      ],
      until: { ms: 110, node: 4, event: "send", peer: 3, text: "ELECTION [3,5,0,1,4] (again)" },
      explain:
        "The ring closes around the crashed process. This is not a rule of the election but of the link below it. Its repeats " +
        "and acknowledgements are counted separately.",
      rules: ["L3"],
    },
    {
      after: { ms: 120, node: 3, event: "receive", peer: 4, text: "ELECTION [3,5,0,1,4] (again)" },
      tell: "P3 gets a list that begins with its own number.",
      ask: "What does P3 know now?",
      choices: [
        { say: "That it has won", because: "3 is not the largest number in the list. The process that starts has no advantage." },
        {
          say: "That every live process is in this list",
          right: true,
          because: "The list has gone all the way round, and every live process has added its number.",
        },
        {
          say: "That something went wrong: no list should come twice",
          because: "It should come twice, but only to the process that started it.",
        },
      ],
      until: { ms: 120, node: 3, event: "send", peer: 5, text: "COORDINATOR(5)" },
      explain:
        "P3 takes the largest number of the list, 5, and sends it round with the list. Only now does P5 learn that it has won.",
      rules: ["R3"],
    },
    {
      after: { ms: 150, node: 1, event: "receive", peer: 0, text: "ELECTION [1,4,3,5,0]" },
      tell: "30 ms later P1's list has returned, too. P3's announcement is right behind it.",
      ask: "Which process does P1 announce?",
      choices: [
        { say: "P1, because it started this election", because: "The largest number in the list wins, whichever process has started." },
        { say: "P5", right: true, because: "[1,4,3,5,0] has the same five numbers as P3's list, in another order." },
        {
          say: "None, because P5 is elected already",
          because: "P1 does not know that yet. And announcing it twice does no harm.",
        },
      ],
      until: { ms: 150, node: 1, event: "send", peer: 4, text: "COORDINATOR(5)" },
      explain:
        "Two elections at once end with the same winner. Each costs two rounds: 2k messages for k live processes.",
      rules: ["R3"],
    },
    {
      after: { ms: 385, node: 0, event: "crash" },
      tell:
        "Later P5 crashes, too, and P0 starts an election. Its list, [0,1,4,3], waits at P3 until P3 skips P5. Now P0 crashes, " +
        "the only process that would recognise the list as its own.",
      ask: "What happens to the list?",
      choices: [
        {
          say: "It goes round for ever",
          because: "It would if every process only passed it on. But P1 is in the list already, and notices.",
        },
        {
          say: "P1, the second in the list, takes it over",
          right: true,
          because: "P1 finds its own number in the list, but not first: the processes before it must have crashed.",
        },
        {
          say: "P3 drops it and starts its own",
          because: "P3 only skips the processes that do not acknowledge: P5, then P0.",
        },
      ],
      until: { ms: 530, node: 1, event: "send", peer: 4, text: "COORDINATOR(4)" },
      explain:
        "P1 removes P0 and announces the largest of the rest. The textbooks do not say what to do here. Dropping the list " +
        "would be safe as well, but then another election would have to start.",
      rules: ["R5", "R3"],
    },
  ],
  end:
    "One round collects the live processes, and one announces the winner. A process needs to know only its successor, and the " +
    "next one if the successor is down.",
  further: [
    { exhibit: "ring-two-elections", say: "Two lists among eight processes, from the book" },
    { exhibit: "ring-announcer-dies-without-sending", say: "The owner crashes while it holds the list" },
    { exhibit: "check-ring-time-outs-lie", say: "When a slow neighbour is considered down" },
  ],
};
