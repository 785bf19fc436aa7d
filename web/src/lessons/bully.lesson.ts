import scenario from "./runs/bully.txt?raw";
import type { LessonBody } from "./types";

export const lesson: LessonBody = {
  intro:
    "There are four processes, P1 to P4, and each can send messages to each. The live process with the largest number is " +
    "the coordinator. That is P4, until it fails. A message takes 10 ms. A process that waits for an answer waits for T, " +
    "100 ms.",
  scenario,
  stops: [
    {
      after: { ms: 0, node: 2, event: "input" },
      tell: "P4 and P1 have crashed. P2 suspects that P4 is down: an earlier request to P4 got no answer.",
      ask: "P2 wants to know which process should be the coordinator now. Which processes does it ask?",
      choices: [
        {
          say: "All: P1, P3 and P4",
          because:
            "P1 has a smaller number than P2. No answer from P1 could keep P2 from becoming the coordinator, so P2 does not ask it.",
        },
        {
          say: "P3 and P4",
          right: true,
          because:
            "Only a larger process can keep P2 from becoming the coordinator. P4 is one of them: P2 suspects it and does not know.",
        },
        {
          say: "P3 only, because P4 is down",
          because:
            "You see that P4 is down. P2 does not: it got no answer once, and it asks again to make sure.",
        },
      ],
      until: { ms: 0, node: 2, event: "send", peer: 4 },
      explain: "P2 sends ELECTION to every larger process and waits T for an OK from any of them.",
      rules: ["R1"],
    },
    {
      after: { ms: 10, node: 3, event: "receive" },
      tell: "P2's ELECTION has reached P3, which is live and larger than P2.",
      ask: "What does P3 do?",
      choices: [
        {
          say: "It answers OK and leaves the rest to P2",
          because: "OK tells P2 to stop. If P3 did nothing else, no process would go on with the election.",
        },
        {
          say: "It answers OK and starts its own election",
          right: true,
          because: "OK tells P2 to stop, so P3 has to go on in its place. P4 is larger than P3, so P3 has to ask it.",
        },
        {
          say: "It becomes the coordinator at once",
          because: "P4 is larger than P3, and P3 knows no more about P4 than P2 does.",
        },
      ],
      until: { ms: 10, node: 3, event: "send", peer: 4 },
      explain: "P3 takes over the election: OK to the smaller process, ELECTION to the larger one. P2 has lost.",
      rules: ["R4", "R1"],
    },
    {
      after: { ms: 20, node: 4, event: "drop", peer: 3 },
      tell: "P2 has received OK and waits for the result. P3's ELECTION was not delivered, because P4 is down.",
      ask: "How does P3 find out that it is the largest live process?",
      choices: [
        {
          say: "The network tells it that its message could not be delivered",
          because: "The network does not report that. A process has only the messages that arrive and its own clock.",
        },
        {
          say: "It receives no answer until its time-out",
          right: true,
          because: "P3 gets no answer for T, and takes that as proof that P4 is down.",
        },
        {
          say: "P2 tells it that P4 has not answered",
          because: "P2 has stopped. It also asked P4 only 10 ms before P3 did.",
        },
      ],
      until: { ms: 110, node: 3, event: "output", text: "elected P3" },
      explain:
        "P3's timer expires T after its question, and P3 considers itself the largest live process. Remember this moment: " +
        "bully recognises a crash only by silence, and a slow network is silent, too.",
      rules: ["R2"],
    },
    {
      after: { ms: 110, node: 3, event: "output", text: "elected P3" },
      tell: "P3 is the coordinator. So far only P3 knows it.",
      ask: "Which processes does it tell?",
      choices: [
        {
          say: "P2, which started the election",
          because: "Every process has to know which one to follow. P3 does not know that P1 is down.",
        },
        {
          say: "P1 and P2",
          right: true,
          because: "Those are the smaller processes. As far as P3 knows, no other can be live.",
        },
        {
          say: "P1, P2 and P4",
          because:
            "As far as P3 knows, no larger process is live. If P4 were live, P4 would send the announcement.",
        },
      ],
      until: { ms: 120, node: 2, event: "output", text: "elected P3" },
      explain:
        "COORDINATOR goes to every smaller process. P1 is down and misses it. P2 records P3. So P3 is the coordinator: it is " +
        "the largest process that has answered.",
      rules: ["R2", "R5"],
    },
    {
      after: { ms: 220, node: 1, event: "recover" },
      tell: "P1 has recovered. It knows that it was down, and it has no coordinator.",
      ask: "What does P1 do?",
      choices: [
        {
          say: "It waits for a message that names the coordinator",
          because:
            "The others do not know that P1 is back, so it might wait for ever. And P1 might be the largest live process now.",
        },
        {
          say: "It starts an election and asks P2, P3 and P4",
          right: true,
          because:
            "That is the rule for a process that recovers. It costs many messages, but needs no knowledge of the past.",
        },
        {
          say: "It asks P4, its last coordinator",
          because: "P1 has forgotten its coordinator: a crash erases all state that is not on disk.",
        },
      ],
      until: { ms: 220, node: 1, event: "send", peer: 4 },
      explain: "Three processes are larger than P1, so it sends three ELECTIONs.",
      rules: ["R7", "R1"],
    },
    {
      after: { ms: 220, node: 1, event: "send", peer: 4 },
      tell: "P1's election has started. P2 and P3 are live, and P4 is still down.",
      ask: "Which process will win this time?",
      choices: [
        { say: "P1", because: "P2 and P3 are larger and answer. One OK is enough to stop P1." },
        { say: "P2", because: "P2 answers P1 and starts an election, too. But then P3 tells it to stop, as before." },
        { say: "P3", right: true, because: "It is still the largest live process, and every election finds that process." },
        { say: "P4", because: "P4 is down. A process is elected only when it announces itself." },
      ],
      until: { ms: 340, node: 2, event: "output", text: "elected P3" },
      explain:
        "The same as before, with one more process: P2 and P3 answer and start their own elections, and P3 gets no answer from " +
        "P4. It takes eleven messages to find out that nothing has changed.",
      rules: ["R2", "R5"],
    },
    {
      after: { ms: 450, node: 4, event: "recover" },
      tell: "P4, the largest process, has recovered. P3 is the coordinator and works well.",
      ask: "How many ELECTIONs does P4 send?",
      choices: [
        { say: "Three, like P1", because: "P1 asked the larger processes. Count the processes that are larger than P4." },
        { say: "One, to P3, the coordinator", because: "P3 is smaller. P4 does not ask smaller processes." },
        { say: "None", right: true, because: "No process is larger than P4, so it has no process to ask and no answer to wait for." },
      ],
      until: { ms: 450, node: 4, event: "send", peer: 3 },
      explain: "P4 starts an election, wins at the same moment, and sends COORDINATOR to the three smaller processes.",
      rules: ["R7", "R2"],
    },
    {
      after: { ms: 450, node: 4, event: "send", peer: 3 },
      tell: "P4's COORDINATOR is on its way to P3, which was elected again 120 ms ago.",
      ask: "What does P3 do when it arrives?",
      choices: [
        {
          say: "It refuses, because it was elected",
          because: "Bully has no terms. The larger process wins, even if the smaller one was the coordinator before.",
        },
        {
          say: "It starts an election",
          because: "It would if the announcement came from a smaller process. This one comes from a larger process.",
        },
        { say: "It follows P4", right: true, because: "P4 is larger, and only that counts." },
      ],
      until: { ms: 460, node: 3, event: "output", text: "elected P4" },
      explain:
        "P3 steps down at once, although it worked well. The algorithm is named after this bullying.",
      rules: ["R5"],
    },
  ],
  end:
    "A larger process that is asked takes over. A process that gets no answer wins. That is right as long as silence means a " +
    "crash. Now break it: open the run, go to 10 ms, where P3 has just answered, click P2 and cut it off. Which process is the " +
    "coordinator at 110 ms?",
  further: [
    { exhibit: "bully-p1-to-p4", say: "The same run, yours to break" },
    { exhibit: "bully-partition", say: "What a partition does to it" },
    { exhibit: "bully-book-figure", say: "The book's figure with eight processes" },
  ],
};
