import scenario from "./runs/hirschberg-sinclair.txt?raw";
import type { LessonBody } from "./types";

export const lesson: LessonBody = {
  intro:
    "Four processes form a ring, 1, 3, 2, 4, and send in both directions. All start at once, and there is no coordinator yet. " +
    "Each candidate asks whether a process nearby is larger: first one place to each side, then two, then four. A candidate " +
    "that finds a larger process drops out before its questions travel far.",
  scenario,
  stops: [
    {
      after: { ms: 10, node: 3, event: "receive", peer: 1 },
      tell: "Every process has sent a PROBE to both neighbours. P1's PROBE is at P3.",
      ask: "1 is smaller than 3. What does P3 do with it?",
      choices: [
        { say: "It passes it on", because: "A PROBE of phase 0 goes only one place, and 1 cannot win anyway." },
        { say: "It answers that 3 is larger", because: "There is no such message. A missing REPLY says the same." },
        {
          say: "It drops it",
          right: true,
          because: "P1 gets no REPLY from this side, so it does not go on to the next phase.",
        },
      ],
      until: { ms: 10, node: 4, event: "receive", peer: 1 },
      explain: "P4, P1's other neighbour, does the same. P1 gets no REPLY from either.",
      rules: ["R2c"],
    },
    {
      after: { ms: 10, node: 2, event: "receive", peer: 3 },
      tell: "P3's PROBE is at P2. It has gone one place, as far as it should.",
      ask: "3 is larger than 2. What does P2 do?",
      choices: [
        {
          say: "It sends REPLY(3) back",
          right: true,
          because: "As far as the PROBE went on this side, no process is larger than 3.",
        },
        {
          say: "It passes the PROBE on to P4",
          because: "The PROBE has gone as far as it should. The candidate decides how far.",
        },
        { say: "It drops it", because: "Only smaller numbers are dropped, and 3 is larger than 2." },
      ],
      until: { ms: 10, node: 2, event: "send", peer: 3 },
      explain: "A REPLY says: no process on this side is larger, as far as you have asked.",
      rules: ["R2b"],
    },
    {
      after: { ms: 10, node: 2, event: "send", peer: 4, text: "REPLY(4, phase 0)" },
      tell: "All PROBEs of phase 0 have arrived: some were dropped, some are answered.",
      ask: "Which processes go on to phase 1?",
      choices: [
        { say: "P4 only", because: "P4 and P3 are not neighbours, so P3 has not met a larger process yet." },
        { say: "P3 and P4", right: true, because: "Each is larger than both of its neighbours and gets two REPLYs." },
        { say: "P2, P3 and P4", because: "P2 is between P3 and P4 and is smaller than both." },
        { say: "All four", because: "P1 and P2 have larger neighbours and get no REPLY." },
      ],
      until: { ms: 20, node: 4, event: "send", peer: 2, text: "PROBE(4, phase 1)" },
      explain:
        "With a REPLY from both sides, a candidate asks again, twice as far. Of two neighbours, at most one goes on.",
      rules: ["R3", "R1"],
    },
    {
      after: { ms: 30, node: 2, event: "receive", peer: 3, text: "PROBE(3, phase 1)" },
      tell: "P3's PROBE of phase 1, which should go two places, is at P2.",
      ask: "P2 has dropped out. What does it do with the PROBE?",
      choices: [
        { say: "It replies", because: "The PROBE has gone one place and should go one more." },
        { say: "It passes it on to P4", right: true, because: "It has not gone far enough yet, and 3 is larger than 2." },
        {
          say: "It drops it, because it was a candidate itself",
          because: "3 is larger. A process that has dropped out relays messages for the others.",
        },
      ],
      until: { ms: 30, node: 2, event: "send", peer: 4 },
      explain: "The PROBE goes on in its direction.",
      rules: ["R2a"],
    },
    {
      after: { ms: 40, node: 4, event: "receive", peer: 2, text: "PROBE(3, phase 1)" },
      tell: "Two places away, P3's PROBE reaches P4.",
      ask: "What does that mean for P3?",
      choices: [
        {
          say: "It drops out, and no message tells it so",
          right: true,
          because: "P4 drops the PROBE. Without two REPLYs, P3 does not go on.",
        },
        {
          say: "It tries phase 1 again",
          because: "No process asks twice. Messages are not lost here, so a missing REPLY means a larger process.",
        },
        {
          say: "P4 sends it a message that it has lost",
          because: "That would cost a message, and the missing REPLY says the same.",
        },
      ],
      until: { ms: 40, node: 3, event: "send", peer: 1 },
      explain:
        "P3 also replies to P4's PROBE, which has come from the other side: no process within two places is larger than 4.",
      rules: ["R2c", "R2b"],
    },
    {
      after: { ms: 60, node: 4, event: "receive", peer: 2, text: "REPLY(4, phase 1)" },
      tell: "P4 has both REPLYs of phase 1. It is the only candidate left, but does not know that.",
      ask: "How does it find out?",
      choices: [
        {
          say: "It knows already: two places to each side are the whole ring",
          because: "P4 does not know the size of the ring. It asks until its PROBE returns.",
        },
        {
          say: "Its PROBEs of phase 2 go all the way round and return to it",
          right: true,
          because: "Four places are the whole ring. A process that receives its own PROBE has met no larger process.",
        },
        { say: "P3 gives up and tells P4", because: "P3 does not know which process it has lost to." },
      ],
      until: { ms: 100, node: 4, event: "output", text: "elected P4" },
      explain: "The PROBE that P4 sent to one side arrives from the other side: P4 is the largest.",
      rules: ["R2d"],
    },
    {
      after: { ms: 100, node: 4, event: "send", peer: 1 },
      tell: "P4 sends ELECTED round, and all record it. Four processes needed 24 PROBEs, 8 REPLYs and 4 ELECTEDs.",
      ask: "Why does this pay off on a large ring?",
      choices: [
        {
          say: "Because messages travel in two directions, so twice as fast",
          because: "That saves time, not messages.",
        },
        {
          say: "Because each phase asks twice as far, but with about half as many candidates",
          right: true,
          because: "So every phase costs about the same, at most 8k messages, and there are only log k phases.",
        },
        {
          say: "Because candidates that lose get no REPLY",
          because: "True, but that saves little: not enough to get from k² to k log k.",
        },
      ],
      until: { ms: 140, node: 4, event: "receive", peer: 2 },
      explain: "At most 4k + 8k log₂ k PROBEs and REPLYs in the worst case, where Chang and Roberts may need k(k+1)/2.",
      rules: ["R4"],
    },
  ],
  end: "Cheap questions come first: most candidates drop out after a short way, and few send messages far.",
  further: [
    { exhibit: "hirschberg-sinclair-worked-run", say: "The same run, yours to break" },
    { exhibit: "check-hirschberg-sinclair-time-outs-lie", say: "When live neighbours are considered down" },
    { exhibit: "chang-roberts-all-start-worst", say: "The worst case that it avoids" },
  ],
};
