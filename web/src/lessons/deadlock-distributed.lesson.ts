import scenario from "./runs/deadlock-distributed.txt?raw";
import type { LessonBody } from "./types";
import { right, wrong } from "./write";

export const lesson: LessonBody = {
  intro:
    "The same three transactions at two sites, and no coordinator. A site writes P_ex for everything outside: T3 → P_ex means that " +
    "T3 waits somewhere else.",
  scenario,
  stops: [
    {
      after: { ms: 10, node: 1, event: "send", peer: 2 },
      tell: "T2 waits at S1 for T3. T3 waits at S2. S1 is told about that and tells S2 about T2.",
      ask: "How does S1's graph look when it knows that T3 waits at another site?",
      choices: [
        wrong("T2 → T3", "T3 does not end there: it waits, too, somewhere else."),
        right("P_ex → T2 → T3 → P_ex", "It comes from outside and leads outside: perhaps a part of a cycle."),
        wrong("T2 → T3 → T2", "S1 does not know what T3 waits for."),
      ],
      until: { ms: 15, node: 2, event: "output", text: "lets T4 wait for S2.b, which T2 holds" },
      explain: "At S2: P_ex → T3 → T4 → T2 → P_ex, as soon as T4 waits for T2.",
      rules: ["L1"],
    },
    {
      after: { ms: 20, node: 2, event: "receive", peer: 1 },
      tell: "Both sites have a cycle through P_ex now.",
      ask: "Which of them sends its path to the other?",
      choices: [
        wrong("Both", "That would work, but one message is enough. There is a rule that chooses."),
        wrong("S1, with T2 → T3", "A path is sent only if its last number is smaller than its first. 3 is not smaller than 2."),
        right("S2, with T3 → T4 → T2", "2 is smaller than 3. In every cycle some path fulfils the rule, so nothing is missed."),
      ],
      until: { ms: 20, node: 2, event: "send", peer: 1 },
      explain: "PATH goes to S1, where T2 waits.",
      rules: ["D2"],
      sent: { PATH: 1 },
    },
    {
      after: { ms: 30, node: 1, event: "receive", peer: 2 },
      tell: "S1 adds the path T3 → T4 → T2 to its own T2 → T3.",
      ask: "What does S1 see?",
      choices: [
        right("A cycle without P_ex", "T2 → T3 → T4 → T2: nothing outside is needed any more. It is a deadlock."),
        wrong("A longer path through P_ex", "Put both together: where does it leave the known transactions?"),
        wrong("Two separate paths", "T3 is in both."),
      ],
      until: { ms: 50, node: 1, event: "output", text: "finds the deadlock T2 -> T3 (S1.a) -> T4 (S2.a) -> T2 (S2.b)" },
      explain: "S2 has confirmed that its part still stands.",
      rules: ["D3", "D1", "L4"],
    },
    {
      after: { ms: 50, node: 1, event: "send", peer: 2 },
      tell: "S1 has chosen a victim: the youngest of the three.",
      ask: "Which one is it?",
      choices: [
        right("T2", "T3 and T4 began before it. Its home is S2, which aborts it."),
        wrong("T4, the largest number", "Numbers are names. Which one began last?"),
        wrong("T3, because S1 is its home", "Where it is at home does not matter."),
      ],
      until: { ms: 60, node: 2, event: "output", text: "gives S2.b to T4" },
      explain: "T2 gives S2.b back, and T4 gets it.",
      rules: ["L5", "L2"],
      sent: { PATH: 1 },
    },
  ],
  end: "Paths travel instead of whole graphs, and every site looks by itself. For s sites a cycle costs s-1 to s(s-1)/2 messages.",
  further: [
    { exhibit: "deadlock-distributed-unconfirmed-phantom", say: "Without confirmation: a phantom" },
    { exhibit: "deadlock-edge-chasing-three-sites", say: "Another way: probes that chase the edges" },
  ],
};
