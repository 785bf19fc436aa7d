import scenario from "./runs/token-ring.txt?raw";
import type { LessonBody } from "./types";
import { right, wrong } from "./write";

export const lesson: LessonBody = {
  intro:
    "Four processes stand in a ring. One token goes round, P1 to P2 to P3 to P4 and back. The process that has it may enter the critical " +
    "section. A hop takes 10 ms.",
  scenario,
  stops: [
    {
      after: { ms: 10, node: 2, event: "receive", peer: 1 },
      tell: "P3 wants to enter. The token has come to P2, which does not.",
      ask: "What does P2 do?",
      choices: [
        wrong("It keeps the token until another process asks for it", "No process can ask: there is no REQUEST in this algorithm."),
        right("It passes the token to P3, its neighbour", "A process that does not want to enter passes the token on at once."),
        wrong("It sends the token to the process that waits longest", "P2 does not know who waits. It knows its neighbour."),
      ],
      until: { ms: 20, node: 3, event: "output", text: "enters the section (#1)" },
      explain: "The token reaches P3, and P3 keeps it while it is inside.",
      rules: ["TR2", "TR1"],
      sent: { TOKEN: 2 },
    },
    {
      after: { ms: 25, node: 2, event: "output", text: "asks for the section" },
      tell: "P3 leaves, and now P2 wants to enter. The token is on its way to P4.",
      ask: "How many hops does the token still need to reach P2?",
      choices: [
        wrong("1", "The token goes round in one direction. Where is it now?"),
        wrong("2", "From P3 to P4, and then? Count up to P2."),
        right("3", "To P4, to P1, to P2: on average half a circuit, at worst a whole one."),
      ],
      until: { ms: 55, node: 2, event: "output", text: "enters the section (#2)" },
      explain: "The token also goes round when no process wants it. That is the price for never asking.",
      rules: ["TR2", "TR1"],
      sent: { TOKEN: 5 },
    },
    {
      after: { ms: 63, node: 2, event: "crash" },
      tell: "P2 was inside and has crashed. It had the token.",
      ask: "Where is the token now?",
      choices: [
        wrong("On its way to P3", "P2 had not left the section, so it had not passed the token on."),
        right("It is lost", "It died with P2. Without help the ring now stands still for ever."),
        wrong("P1 takes it back", "P1 does not know that P2 had it when it died."),
      ],
      until: { ms: 73, node: 4, event: "output", text: "elected P4" },
      explain: "P1 suspects that something is wrong and starts an election. P4 wins: it is the largest live process.",
      rules: ["R1"],
    },
    {
      after: { ms: 93, node: 4, event: "receive", peer: 3 },
      tell: "The new coordinator P4 has asked all live processes for a REPORT. None of them has the token.",
      ask: "What does P4 do?",
      choices: [
        wrong("It waits for P2 to recover", "That may never happen, and P2 would have forgotten the token anyway."),
        right("It makes a new token", "Replacing a lost token is a duty of the coordinator. It may do so because no survivor has one."),
        wrong("It lets every process enter once", "Then several could be inside at the same time."),
      ],
      until: { ms: 173, node: 4, event: "output", text: "makes a new token" },
      explain:
        "P4 first waits T, so that every live process can answer, and then begins a new view with three members. A token of the old " +
        "view would be refused now, so there can never be two.",
      rules: ["V3", "S2"],
    },
  ],
  end: "The right to enter is a thing that exists once. That makes safety obvious and loss dangerous.",
  further: [
    { exhibit: "token-ring-holder-dies", say: "The holder dies: the whole run" },
    { exhibit: "check-token-ring-no-epochs", say: "Two tokens: what happens without views" },
  ],
};
