import scenario from "./runs/deadlock-central.txt?raw";
import type { LessonBody } from "./types";
import { right, wrong } from "./write";

export const lesson: LessonBody = {
  intro:
    "Transactions lock resources at two sites, S1 and S2, and wait for each other. S3 is the coordinator and looks for deadlocks. " +
    "An arrow T2 → T3 means: T2 waits for something that T3 has.",
  scenario,
  stops: [
    {
      after: { ms: 10, node: 1, event: "output", text: "lets T2 wait for S1.a, which T3 holds" },
      tell: "At S1 T2 waits for T3. At S2 T3 waits for T4, and T4 waits for T2.",
      ask: "Which site sees that these three wait in a cycle?",
      choices: [
        wrong("S1", "S1 sees T2 → T3 only."),
        wrong("S2", "S2 sees T3 → T4 → T2. What T2 waits for is at S1."),
        right("Neither", "Each has a part of the cycle, and neither part is a cycle."),
      ],
      until: { ms: 40, node: 3, event: "receive", peer: 1 },
      explain: "P1 asks the coordinator to look.",
      rules: ["C1"],
    },
    {
      after: { ms: 40, node: 3, event: "send", peer: 2 },
      tell: "The coordinator has sent INITIATE to all sites.",
      ask: "What do S1 and S2 send back?",
      choices: [
        wrong("Whether they see a deadlock", "They see none, and there is one."),
        right("Their wait-for graphs", "Joined together they are the global graph."),
        wrong("All their locks", "Who waits for whom is enough."),
      ],
      until: { ms: 50, node: 2, event: "send", peer: 3 },
      explain: "GRAPH(T2 → T3) from S1, and GRAPH(T3 → T4, T4 → T2) from S2.",
      rules: ["C2"],
      sent: { INITIATE: 2, GRAPH: 2 },
    },
    {
      after: { ms: 60, node: 3, event: "receive", peer: 2 },
      tell: "The coordinator has the whole graph, with the cycle T2 → T3 → T4 → T2.",
      ask: "The graphs are some milliseconds old. What could be wrong with the cycle?",
      choices: [
        wrong("Nothing: a deadlock never goes away", "A real one does not. But were the edges ever there at the same moment?"),
        right("One of the edges may be gone by now", "Such a cycle that never was is called a phantom. So all sites are asked to confirm."),
        wrong("It may be too long", "A cycle of any length is a deadlock."),
      ],
      until: { ms: 80, node: 3, event: "output", text: "finds the deadlock T2 -> T3 (S1.a) -> T4 (S2.a) -> T2 (S2.b)" },
      explain: "Both sites confirm that their part stands: it is a deadlock.",
      rules: ["C3", "L4"],
    },
    {
      after: { ms: 80, node: 3, event: "output", text: "finds the deadlock T2 -> T3 (S1.a) -> T4 (S2.a) -> T2 (S2.b)" },
      tell: "Three transactions wait for each other for ever.",
      ask: "What ends it?",
      choices: [
        wrong("T2 gets its lock before T3", "T3 holds it and cannot give it back before it has ended."),
        right("One transaction is aborted and gives its locks back", "The victim is the youngest: it has done the least work."),
        wrong("All three are aborted", "One is enough to break the cycle."),
      ],
      until: { ms: 90, node: 2, event: "output", text: "gives S2.b to T4" },
      explain: "T2 began last. It is aborted, and T4 gets S2.b and goes on.",
      rules: ["L5", "L2"],
    },
  ],
  end: "One process with all graphs sees every cycle. It costs 2(n-1) messages a look, and the coordinator must live.",
  further: [
    { exhibit: "deadlock-central-unlabelled-phantom", say: "A phantom: the deadlock that never was" },
    { exhibit: "deadlock-central-labelled-edges", say: "How time stamps rule phantoms out" },
  ],
};
