import scenario from "./runs/berkeley.txt?raw";
import type { LessonBody } from "./types";
import { right, wrong } from "./write";

export const lesson: LessonBody = {
  intro:
    "Three machines have clocks that show 2:50, 3:25 and 3:00. P3, the coordinator, is the clock master. None of them has the right " +
    "time; they only want to agree.",
  scenario,
  stops: [
    {
      after: { ms: 100, node: 3, event: "send", peer: 2 },
      tell: "P3 has asked both others for their time.",
      ask: "What does P1 do with the question?",
      choices: [
        wrong("It sets its clock to P3's time", "P3 is the master, but its clock is no better than the others."),
        right("It answers with what its own clock shows", "The master needs all clocks, because it takes their mean."),
        wrong("It asks P2, too", "Only the master asks. That makes 3(n-1) messages a round."),
      ],
      until: { ms: 110, node: 2, event: "send", peer: 3 },
      explain: "Readings of 2:50 and 3:25 are on their way, each 10 ms old when it arrives. P3 adds half the round trip.",
      rules: ["B2"],
      sent: { POLL: 2, READING: 2 },
    },
    {
      after: { ms: 120, node: 3, event: "receive", peer: 1 },
      tell: "2:50, 3:25, and P3's own 3:00: the last reading is about to arrive.",
      ask: "Which time do they agree on?",
      choices: [
        wrong("3:00, the master's", "The master's clock counts as one of three."),
        right("3:05, the mean", "(2:50 + 3:25 + 3:00) / 3. An outlier would be left out of the mean."),
        wrong("3:25, the latest", "Then one wrong clock would drag all others along."),
      ],
      until: { ms: 120, node: 3, event: "output", text: "takes the mean of 3 clocks: +5min" },
      explain: "The mean is 5 minutes ahead of the master's own clock.",
      rules: ["B3", "B4"],
    },
    {
      after: { ms: 120, node: 3, event: "output", text: "takes the mean of 3 clocks: +5min" },
      tell: "P3 now tells the others what to do.",
      ask: "What does it send to P2, whose clock shows 3:25?",
      choices: [
        wrong("\"Set your clock to 3:05\"", "The message takes a while, and no process knows exactly how long. When it arrives the time is wrong."),
        right("\"Correct your clock by -20 minutes\"", "A difference does not age on its way."),
        wrong("Nothing: a clock must not go back", "It will not jump back. But it has to lose 20 minutes somehow."),
      ],
      until: { ms: 120, node: 3, event: "send", peer: 2, text: "ADJUST(-20min)" },
      explain: "ADJUST(+15min) to P1, ADJUST(-20min) to P2, and P3 corrects its own clock by +5 minutes.",
      rules: ["B5"],
      sent: { POLL: 2, READING: 2, ADJUST: 2 },
    },
    {
      after: { ms: 130, node: 2, event: "receive", peer: 3 },
      tell: "P2 has to lose 20 minutes. It slews its clock by at most 5 %.",
      ask: "How long does that take?",
      choices: [
        wrong("It is done at once", "Then its time would run backwards, and files would be older than what they were made from."),
        wrong("20 minutes", "For that, the clock would have to stand still."),
        right("400 minutes", "At 5 % it loses one minute in twenty. It never goes back, it only goes slower."),
      ],
      until: { ms: 130, node: 2, event: "output", text: "sets its clock by -20min, within 10ms of P3's, slewed for 400min" },
      explain: "Time that only goes forward is worth the wait.",
      rules: ["B6"],
    },
  ],
  end: "Berkeley keeps clocks together, not right. If the master dies, an election finds another one.",
  further: [
    { exhibit: "berkeley-outlier", say: "A clock that is hours off" },
    { exhibit: "berkeley-master-dies", say: "The master dies" },
  ],
};
