import scenario from "./runs/ring.txt?raw";
import type { LessonBody } from "./types";

export const lesson: LessonBody = {
  intro:
    "Six processes stand on a ring, clockwise 3, 5, 0, 1, 4, 6, and each sends only to the next. P6 coordinates, and is " +
    "about to fail. Nobody can ask everybody here: a message has to go round and find out who is there.",
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
          because: "The list is to grow on its way; its first entry says whose it is.",
        },
        {
          say: "ELECTION to each larger process",
          because: "That would be bully. On this ring P3 reaches only its successor, P5.",
        },
        { say: "A list of all six, to P5", because: "Who of the six is alive is just what P3 does not know." },
      ],
      until: { ms: 0, node: 3, event: "send", peer: 5 },
      explain: "ELECTION [3] goes to the next on the ring.",
      rules: ["R1"],
    },
    {
      after: { ms: 10, node: 5, event: "receive", peer: 3 },
      tell: "P1 has started an election of its own at the same moment; leave it aside for now. P3's list is at P5.",
      ask: "5 is larger than 3. What does P5 do with the list?",
      choices: [
        {
          say: "It puts 5 in the place of 3",
          because:
            "Chang and Roberts do that. Here the list keeps everybody, so that in the end all know who is alive.",
        },
        {
          say: "It adds 5, and passes the list on",
          right: true,
          because: "Large or small, everybody adds its number. Who wins is seen in the end.",
        },
        {
          say: "It keeps the list and announces itself",
          because: "P5 cannot know whether somebody larger is still to come.",
        },
      ],
      until: { ms: 10, node: 5, event: "send", peer: 0 },
      explain:
        "The list is [3,5] now. P5 also acknowledges it to P3: on this ring silence means that the next one is dead.",
      rules: ["R2"],
    },
    {
      after: { ms: 30, node: 1, event: "receive", peer: 0 },
      tell: "P3's list, [3,5,0], has come to P1, which has a list of its own under way.",
      ask: "What does P1 do with the second one?",
      choices: [
        {
          say: "It drops it: one election is enough",
          because: "Then P3 would wait in vain for its list. And P1 might die before its own comes home.",
        },
        {
          say: "It adds its number to it like anybody else",
          right: true,
          because: "Both lists collect the same processes, so both will say the same.",
        },
        {
          say: "It makes one list of the two",
          because: "There is no need. Two lists cost more messages and do no harm.",
        },
      ],
      until: { ms: 30, node: 1, event: "send", peer: 4 },
      explain: "That P1 has started an election itself makes no difference to what it does with another's.",
      rules: ["R2"],
    },
    {
      after: { ms: 50, node: 6, event: "drop", peer: 4 },
      tell: "P4 has sent both lists to its successor P6: [1,4] at 10 ms, and now [3,5,0,1,4]. P6 is dead.",
      ask: "How do the lists get any further?",
      choices: [
        {
          say: "P4 waits T for an acknowledgement, and then sends them to the next, P3",
          right: true,
          because: "No acknowledgement within T: P4 takes P6 for dead and skips it.",
        },
        {
          say: "P3 misses them and asks P4",
          because: "P3 does not know where its list is. It might as well be at P0.",
        },
        {
          say: "They are lost, and somebody starts anew",
          because: "It does not come to that: P4 knows what it has sent and not had acknowledged.",
        },
      ],
      until: { ms: 110, node: 4, event: "send", peer: 3, text: "ELECTION [3,5,0,1,4] (again)" },
      explain:
        "The ring closes over the dead. This is no rule of the election but of the link below it, and its repeats and " +
        "acknowledgements are counted apart.",
      rules: ["L3"],
    },
    {
      after: { ms: 120, node: 3, event: "receive", peer: 4, text: "ELECTION [3,5,0,1,4] (again)" },
      tell: "P3 gets a list that begins with its own number.",
      ask: "What does P3 know now?",
      choices: [
        { say: "That it has won", because: "3 is not the largest in the list. To have started gives no advantage." },
        {
          say: "That everybody alive is in this list",
          right: true,
          because: "The list has been all the way round, and whoever is alive has added its number.",
        },
        {
          say: "That something went wrong: no list should come twice",
          because: "It should, to the one that began it, and to nobody else.",
        },
      ],
      until: { ms: 120, node: 3, event: "send", peer: 5, text: "COORDINATOR(5)" },
      explain:
        "P3 takes the largest number of the list, 5, and sends that round, with the list. P5 itself hears of its luck only now.",
      rules: ["R3"],
    },
    {
      after: { ms: 150, node: 1, event: "receive", peer: 0, text: "ELECTION [1,4,3,5,0]" },
      tell: "30 ms later P1's list is home, too, while P3's announcement is right behind it.",
      ask: "Which process does P1 announce?",
      choices: [
        { say: "P1, for it is its own election", because: "The largest number in the list wins, whoever has started." },
        { say: "P5", right: true, because: "[1,4,3,5,0] has the same five numbers as P3's list, in another order." },
        {
          say: "None, for P5 is elected already",
          because: "P1 does not know that yet. And to say it twice does no harm.",
        },
      ],
      until: { ms: 150, node: 1, event: "send", peer: 4, text: "COORDINATOR(5)" },
      explain:
        "Two elections at once end with the same winner. Each costs two rounds, 2k messages for the k that are alive.",
      rules: ["R3"],
    },
    {
      after: { ms: 385, node: 0, event: "crash" },
      tell:
        "Later P5 dies, too, and P0 starts an election. Its list, [0,1,4,3], waits at P3 to get past the dead P5. And now P0 " +
        "dies, the only one that would recognise the list as its own.",
      ask: "What becomes of the list?",
      choices: [
        {
          say: "It goes round for ever",
          because: "It would, if all only passed it on. P1 is in it already, though, and notices.",
        },
        {
          say: "P1, the next in the list, takes it over",
          right: true,
          because: "P1 finds its own number in the list, and not first: those before it must have died.",
        },
        {
          say: "P3 gives it up, and starts its own",
          because: "P3 only skips whoever does not acknowledge: P5, then P0.",
        },
      ],
      until: { ms: 530, node: 1, event: "send", peer: 4, text: "COORDINATOR(4)" },
      explain:
        "P1 strikes out P0 and announces the largest of the rest. The textbooks do not say what to do here; dropping the list " +
        "would be safe as well, but somebody would have to start again.",
      rules: ["R5", "R3"],
    },
  ],
  end:
    "One round to find out who is there, one to tell. Nobody needs to know everybody, only who comes next, and who comes after " +
    "that one if it is dead.",
  further: [
    { exhibit: "ring-two-elections", say: "Two lists among eight processes, from the book" },
    { exhibit: "ring-announcer-dies-without-sending", say: "The owner dies with the list in its hands" },
    { exhibit: "check-ring-time-outs-lie", say: "When a slow neighbour is taken for dead" },
  ],
};
