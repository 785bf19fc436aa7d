import scenario from "./runs/hirschberg-sinclair.txt?raw";
import type { LessonBody } from "./types";

export const lesson: LessonBody = {
  intro:
    "Four processes on a ring, 1, 3, 2, 4, that send both ways. All start at once, and nobody coordinates yet. Each candidate " +
    "asks whether anybody near is larger: first one place to each side, then two, then four. Who finds somebody larger drops " +
    "out before the questions get dear.",
  scenario,
  stops: [
    {
      after: { ms: 10, node: 3, event: "receive", peer: 1 },
      tell: "Everybody has sent a PROBE to both neighbours. That of P1 is at P3.",
      ask: "1 is smaller than 3. What does P3 do with it?",
      choices: [
        { say: "It passes it on", because: "A PROBE of phase 0 reaches one place only, and 1 cannot win anyway." },
        { say: "It answers that 3 is larger", because: "There is no such message. No answer is answer enough." },
        {
          say: "It swallows it",
          right: true,
          because: "P1 will get no REPLY from this side, and that is how it learns that it is out.",
        },
      ],
      until: { ms: 10, node: 4, event: "receive", peer: 1 },
      explain: "P4, P1's other neighbour, does the same. P1 will hear from neither.",
      rules: ["R2c"],
    },
    {
      after: { ms: 10, node: 2, event: "receive", peer: 3 },
      tell: "P3's PROBE is at P2. It was to reach one place, and has.",
      ask: "3 is larger than 2. What does P2 do?",
      choices: [
        {
          say: "It sends REPLY(3) back",
          right: true,
          because: "As far as the question reaches on this side, nobody is larger than 3.",
        },
        {
          say: "It passes the PROBE on to P4",
          because: "Its reach is used up. How far to ask is the candidate's choice.",
        },
        { say: "It swallows it", because: "Only smaller numbers are swallowed, and 3 is larger than 2." },
      ],
      until: { ms: 10, node: 2, event: "send", peer: 3 },
      explain: "A REPLY says: nobody on this side is larger, as far as you have asked.",
      rules: ["R2b"],
    },
    {
      after: { ms: 10, node: 2, event: "send", peer: 4, text: "REPLY(4, phase 0)" },
      tell: "All PROBEs of phase 0 have arrived: some were swallowed, some are answered.",
      ask: "Which processes go on to phase 1?",
      choices: [
        { say: "P4 only", because: "P4 and P3 are no neighbours, so P3 has not heard of anybody larger yet." },
        { say: "P3 and P4", right: true, because: "Each is larger than both of its neighbours, and gets two REPLYs." },
        { say: "P2, P3 and P4", because: "P2 stands between 3 and 4 and is smaller than both." },
        { say: "All four", because: "P1 and P2 have larger neighbours and get no REPLY." },
      ],
      until: { ms: 20, node: 4, event: "send", peer: 2, text: "PROBE(4, phase 1)" },
      explain:
        "With a REPLY from both sides a candidate asks again, twice as far. Of two neighbours at most one goes on.",
      rules: ["R3", "R1"],
    },
    {
      after: { ms: 30, node: 2, event: "receive", peer: 3, text: "PROBE(3, phase 1)" },
      tell: "P3's PROBE of phase 1, which is to reach two places, is at P2.",
      ask: "What does P2 do, whose own election is lost?",
      choices: [
        { say: "It replies", because: "The question has come one place, and is to go one more." },
        { say: "It passes it on to P4", right: true, because: "Its reach is not used up, and 3 is larger than 2." },
        {
          say: "It swallows it, since it was a candidate itself",
          because: "3 is larger. Whoever is out serves the others as a messenger.",
        },
      ],
      until: { ms: 30, node: 2, event: "send", peer: 4 },
      explain: "The PROBE goes on in its direction.",
      rules: ["R2a"],
    },
    {
      after: { ms: 40, node: 4, event: "receive", peer: 2, text: "PROBE(3, phase 1)" },
      tell: "Two places on, P3's PROBE meets P4.",
      ask: "What does that mean for P3?",
      choices: [
        {
          say: "It is out, and never told so",
          right: true,
          because: "P4 swallows the PROBE. Without two REPLYs P3 does not go on.",
        },
        {
          say: "It tries phase 1 again",
          because: "Nobody asks twice. Messages are not lost here, so no REPLY means somebody larger.",
        },
        {
          say: "P4 sends it a message that it has lost",
          because: "That would cost a message and tell nothing that silence does not tell.",
        },
      ],
      until: { ms: 40, node: 3, event: "send", peer: 1 },
      explain:
        "And P3 replies to P4's PROBE, which has come to it the other way: nobody within two places is larger than 4.",
      rules: ["R2c", "R2b"],
    },
    {
      after: { ms: 60, node: 4, event: "receive", peer: 2, text: "REPLY(4, phase 1)" },
      tell: "P4 has both REPLYs of phase 1. Nobody else is left, but P4 does not know that.",
      ask: "How does it find out?",
      choices: [
        {
          say: "It knows already: it has asked two places to each side, and that is all of the ring",
          because: "P4 does not count on knowing how large the ring is. It asks until the question comes home.",
        },
        {
          say: "Its PROBEs of phase 2 go all the way round and come back to it",
          right: true,
          because: "Four places are the whole ring. Who meets its own PROBE has met nobody larger.",
        },
        { say: "P3 gives up and tells it", because: "P3 does not even know to whom it has lost." },
      ],
      until: { ms: 100, node: 4, event: "output", text: "elected P4" },
      explain: "The PROBE that P4 sent to one side arrives from the other: P4 is the largest.",
      rules: ["R2d"],
    },
    {
      after: { ms: 100, node: 4, event: "send", peer: 1 },
      tell: "P4 sends ELECTED round, and all record it. It took 24 PROBEs, 8 REPLYs and 4 ELECTEDs for four processes.",
      ask: "Why is this worth while on a large ring?",
      choices: [
        {
          say: "Because messages travel in two directions, and so twice as fast",
          because: "That saves time, not messages.",
        },
        {
          say: "Because each phase asks twice as far, but at most about half as many still ask",
          right: true,
          because: "So every phase costs about the same, some 8k messages, and there are only log k phases.",
        },
        {
          say: "Because no REPLYs are sent to those who lose",
          because: "True, and it saves a little, but not enough to get from k² to k log k.",
        },
      ],
      until: { ms: 140, node: 4, event: "receive", peer: 2 },
      explain: "At most 4k + 8k log₂ k PROBEs and REPLYs in the worst case, where Chang and Roberts may need k(k+1)/2.",
      rules: ["R4"],
    },
  ],
  end: "Cheap questions first: most candidates drop out near home, and few are left for the long way.",
  further: [
    { exhibit: "hirschberg-sinclair-worked-run", say: "The same run, yours to break" },
    { exhibit: "check-hirschberg-sinclair-time-outs-lie", say: "When live neighbours are taken for dead" },
    { exhibit: "chang-roberts-all-start-worst", say: "The worst case that it avoids" },
  ],
};
