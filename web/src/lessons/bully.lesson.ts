import scenario from "./runs/bully.txt?raw";
import type { LessonBody } from "./types";

export const lesson: LessonBody = {
  intro:
    "Four processes, P1 to P4, and everybody can talk to everybody. One of them is to coordinate the others, always the " +
    "one with the largest number that is alive. So P4 does, until it fails. A message takes 10 ms; whoever waits for an " +
    "answer waits for T, 100 ms.",
  scenario,
  stops: [
    {
      after: { ms: 0, node: 2, event: "input" },
      tell: "P4 has crashed, and P1 with it. P2 had a question for P4, got no answer within T, and suspects it.",
      ask: "P2 wants to know who should coordinate now. Whom does it ask?",
      choices: [
        {
          say: "Everybody: P1, P3 and P4",
          because:
            "P1 has a smaller number than P2. Whatever it says, it could not keep P2 from coordinating, so P2 does not ask it.",
        },
        {
          say: "P3 and P4",
          right: true,
          because:
            "Only somebody larger can keep P2 from coordinating. P4 is among them: P2 suspects it, and does not know.",
        },
        {
          say: "P3 only, for P4 is dead",
          because:
            "You see that P4 is dead; P2 does not. It has had no answer, once, and asking again is how it makes sure.",
        },
      ],
      until: { ms: 0, node: 2, event: "send", peer: 4 },
      explain: "P2 sends ELECTION to everybody above it, and waits T for an OK from any of them.",
      rules: ["R1"],
    },
    {
      after: { ms: 10, node: 3, event: "receive" },
      tell: "P2's ELECTION has reached P3, which is alive and larger than P2.",
      ask: "What does P3 do?",
      choices: [
        {
          say: "It answers OK, and leaves the rest to P2",
          because: "OK tells P2 to stop. If P3 did nothing else, nobody would go on with the election.",
        },
        {
          say: "It answers OK, and holds an election of its own",
          right: true,
          because: "OK tells P2 to stop, so P3 has to go on in its place, and there is still somebody above P3.",
        },
        {
          say: "It becomes the coordinator at once",
          because: "There is P4 above it, and P3 knows no more about P4 than P2 does.",
        },
      ],
      until: { ms: 10, node: 3, event: "send", peer: 4 },
      explain: "P3 takes the election over: OK to the smaller one, ELECTION to the larger one. P2 is out from now on.",
      rules: ["R4", "R1"],
    },
    {
      after: { ms: 20, node: 4, event: "drop", peer: 3 },
      tell: "P2 has its OK and waits to hear who has won. P3's question has come to nothing, because P4 is down.",
      ask: "How does P3 find out that it is the largest alive?",
      choices: [
        {
          say: "The network tells it that its message could not be delivered",
          because: "No network tells. A process has what arrives, and its own clock, and nothing else.",
        },
        {
          say: "It hears nothing until its time-out",
          right: true,
          because: "Silence for as long as T is all that it gets, and it takes that for an answer.",
        },
        {
          say: "P2 tells it that P4 has not answered",
          because: "P2 has stopped; and it has asked P4 only as long ago as P3 has, give or take 10 ms.",
        },
      ],
      until: { ms: 110, node: 3, event: "output", text: "elected P3" },
      explain:
        "T after its question P3's timer runs out, and P3 takes itself for the largest alive. Keep this moment in mind: silence " +
        "is all by which bully tells the dead, and a slow network is silent, too.",
      rules: ["R2"],
    },
    {
      after: { ms: 110, node: 3, event: "output", text: "elected P3" },
      tell: "P3 coordinates. So far only P3 knows.",
      ask: "Whom does it tell?",
      choices: [
        {
          say: "P2, which has begun all this",
          because: "Everybody has to know whom to follow. P3 has no idea that P1 is down.",
        },
        {
          say: "P1 and P2",
          right: true,
          because: "Those are the smaller ones, and all that can be alive as far as P3 knows.",
        },
        {
          say: "P1, P2 and P4",
          because:
            "As far as P3 knows, nobody above it is alive. Were P4 alive, P4 would be the one to make announcements.",
        },
      ],
      until: { ms: 120, node: 2, event: "output", text: "elected P3" },
      explain:
        "COORDINATOR goes to every smaller process. P1 is down and misses it; P2 records P3. That is why P3 coordinates: it is " +
        "the largest that anybody has heard of.",
      rules: ["R2", "R5"],
    },
    {
      after: { ms: 220, node: 1, event: "recover" },
      tell: "P1 is back. It knows that it was away, and has no coordinator.",
      ask: "What does P1 do?",
      choices: [
        {
          say: "It waits until somebody tells it who coordinates",
          because:
            "Nobody knows that it is back, so it might wait for ever. And for all it knows it is the largest now.",
        },
        {
          say: "It starts an election, and asks P2, P3 and P4",
          right: true,
          because:
            "That is the rule for whoever comes back. It is dear, but it needs no knowledge of what has happened.",
        },
        {
          say: "It asks P4, its last coordinator",
          because: "P1 has forgotten who coordinated; a crash costs a process all that it has not written down.",
        },
      ],
      until: { ms: 220, node: 1, event: "send", peer: 4 },
      explain: "P1 has three processes above it, so it sends three ELECTIONs.",
      rules: ["R7", "R1"],
    },
    {
      after: { ms: 220, node: 1, event: "send", peer: 4 },
      tell: "P1's election is under way. P2 and P3 are alive, and P4 is still down.",
      ask: "Which process will win this time?",
      choices: [
        { say: "P1", because: "P2 and P3 are larger and answer. One OK is enough to stop P1." },
        { say: "P2", because: "P2 answers P1 and holds an election, too. But then P3 tells it to stop, as before." },
        { say: "P3", right: true, because: "It is still the largest alive, and every election finds that one." },
        { say: "P4", because: "P4 is down. Nobody is elected who does not say so itself." },
      ],
      until: { ms: 340, node: 2, event: "output", text: "elected P3" },
      explain:
        "The same as before, with one more to ask: P2 and P3 answer, hold elections of their own, and P3 hears nothing from P4. " +
        "Eleven messages to find out that nothing has changed.",
      rules: ["R2", "R5"],
    },
    {
      after: { ms: 450, node: 4, event: "recover" },
      tell: "P4 is back, the largest of all. P3 coordinates, and does it well.",
      ask: "How many ELECTIONs does P4 send?",
      choices: [
        { say: "Three, like P1", because: "P1 asked those above it. Count those above P4." },
        { say: "One, to P3, which coordinates", because: "P3 is smaller. P4 does not ask whom it can overrule." },
        { say: "None", right: true, because: "Nobody is above P4, so there is nobody to ask and nothing to wait for." },
      ],
      until: { ms: 450, node: 4, event: "send", peer: 3 },
      explain: "P4 starts an election, has nobody to ask, wins at the same moment, and tells the three below it.",
      rules: ["R7", "R2"],
    },
    {
      after: { ms: 450, node: 4, event: "send", peer: 3 },
      tell: "P4's COORDINATOR is on its way to P3, which has coordinated for 120 ms.",
      ask: "What does P3 do when it comes?",
      choices: [
        {
          say: "It refuses, because it was elected",
          because: "Bully has no terms of office. The larger one is right, whoever worked before.",
        },
        {
          say: "It starts an election to see who is right",
          because: "It would if the announcement came from a smaller process. This one comes from a larger.",
        },
        { say: "It obeys", right: true, because: "P4 is larger, and that is all that counts." },
      ],
      until: { ms: 460, node: 3, event: "output", text: "elected P4" },
      explain:
        "P3 steps back at once, although nothing was wrong with it. This is the bullying that the algorithm is named for.",
      rules: ["R5"],
    },
  ],
  end:
    "Whoever is asked and larger takes over; whoever hears nothing wins. That is right as long as silence means death. Now " +
    "break it: open the run, go to 10 ms, where P3 has just answered, click P2 and cut it off. Who coordinates at 110 ms?",
  further: [
    { exhibit: "bully-p1-to-p4", say: "The same run, yours to break" },
    { exhibit: "bully-partition", say: "What a partition does to it" },
    { exhibit: "bully-book-figure", say: "The book's figure with eight processes" },
  ],
};
