import scenario from "./runs/majority.txt?raw";
import type { LessonBody } from "./types";
import { right, wrong } from "./write";

export const lesson: LessonBody = {
  algorithm: "member",
  intro:
    "Five members of Bellwether itself, as it runs in production. They elect by bully, but the winner leads only with the votes of " +
    "a majority: the mandate, a numbered term with a lease.",
  scenario,
  stops: [
    {
      after: { node: 5, event: "output", text: "elected P5" },
      tell: "P5 has won the election.",
      ask: "May P5 lead now?",
      choices: [
        wrong("Yes: it is the largest live member", "In a partition the largest of the other side thinks so, too."),
        right("Not yet: it asks for votes", "The election says who should lead. A majority says whether it may."),
        wrong("Yes, until another one is elected", "If it were cut off, no message could tell it."),
      ],
      until: { node: 5, event: "output", text: "holds the mandate of term 1" },
      explain: "P5 has the votes of the others and leads in term 1.",
      rules: [],
    },
    {
      after: { event: "note", text: "partition 1,2,3|4,5" },
      tell: "The network is cut: P1, P2 and P3 on one side, P4 and P5 on the other. Each of P1 to P3 voted for P5.",
      ask: "Which side may have a coordinator?",
      choices: [
        wrong("P5's side, because P5 is the coordinator", "How many members can still hear P5?"),
        right("The side with three members", "Three of five are a majority. Two majorities of five always share a member, so there is only one."),
        wrong("Both sides, each its own", "Then both could grant the same lock."),
      ],
      until: { node: 3, event: "output", text: "elected P3" },
      explain: "P3 wins the election on its side and asks for votes. But its voters are still bound to P5's lease.",
      rules: [],
    },
    {
      after: { node: 3, event: "output", text: "asks for the mandate of term 2" },
      tell: "P1 and P2 answer P3: wait, our lease for P5 has not run out.",
      ask: "Why must they wait, although P5 is cut off?",
      choices: [
        right("P5 may still believe that it leads", "Until its lease is over P5 serves clients on its side. No other member may serve before."),
        wrong("P5 could forbid it", "P5 cannot say anything: it is cut off."),
        wrong("Elections take that long", "The election is over. It is the lease that counts."),
      ],
      until: { node: 5, event: "output", text: "lost the mandate of term 1: too few members answered within the lease" },
      explain: "P5 hears from too few members, and stops by itself, before its voters become free.",
      rules: [],
    },
    {
      after: { node: 5, event: "output", text: "asks for the mandate of term 2" },
      tell: "P5 is elected again on its side and asks for votes. P4 gives its vote.",
      ask: "What becomes of P5?",
      choices: [
        wrong("It leads in term 2", "Two votes of five. How many are needed?"),
        right("It has no mandate, and says so", "Two are no majority. Its side has no coordinator, and clients are told."),
        wrong("It leads with a warning", "A coordinator without a majority is what all this prevents."),
      ],
      until: { node: 3, event: "output", text: "holds the mandate of term 2" },
      explain: "P3 leads in term 2, with three votes. At no moment did two members lead.",
      rules: [],
    },
  ],
  end: "A majority can exist only once. That is why a cluster of five bears two lost members and no more.",
  further: [
    { exhibit: "member-minority", say: "The whole run, until the network heals" },
    { exhibit: "bully-partition", say: "Bully alone: two coordinators" },
  ],
};
