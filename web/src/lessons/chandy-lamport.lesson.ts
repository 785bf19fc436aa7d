import scenario from "./runs/chandy-lamport.txt?raw";
import type { LessonBody } from "./types";
import { right, wrong } from "./write";

export const lesson: LessonBody = {
  intro:
    "Three accounts with 100 each. P1 pays 30 to P2, P3 pays 20 to P1, and while the money is on its way P1 wants to know: " +
    "is it still 300? No process can stop the payments, and there is no moment that all share.",
  scenario,
  stops: [
    {
      after: { ms: 5, node: 1, event: "output", text: "records its state for snapshot P1#1" },
      tell: "P1 begins a snapshot and has recorded its balance, 70. P3's 20 are on their way to it.",
      ask: "What does P1 do next?",
      choices: [
        wrong("It asks all for their balances", "By the time they answer, money has moved. It would be counted twice or not at all."),
        right("It sends a MARKER to everybody, before anything else", "The marker divides what P1 sent before its recording from what comes after."),
        wrong("It stops paying until the snapshot is complete", "Work goes on. That is the point."),
      ],
      until: { ms: 5, node: 1, event: "send", peer: 3 },
      explain: "The dashed line through the diagram is the cut: what lies left of it belongs to the snapshot.",
      rules: ["CL1"],
      sent: { TRANSFER: 2, MARKER: 2 },
    },
    {
      after: { ms: 10, node: 1, event: "receive", peer: 3 },
      tell: "P3's payment of 20 arrives at P1, after P1 has recorded 70 and before P3's marker has come.",
      ask: "Where do the 20 belong in the snapshot?",
      choices: [
        wrong("In P1's balance", "P1's balance was recorded before they came: 70."),
        wrong("Nowhere", "P3 paid them before it recorded its state. If they are nowhere, 20 are missing."),
        right("On the way from P3 to P1", "They had left P3 and had not arrived when P1 recorded."),
      ],
      until: { ms: 15, node: 2, event: "receive", peer: 1 },
      explain: "P1 adds them to the channel from P3. It does so until P3's marker comes.",
      rules: ["CL3"],
    },
    {
      after: { ms: 15, node: 2, event: "receive", peer: 1 },
      tell: "P1's marker reaches P2. P1's 30 came 5 ms before it, by the same channel.",
      ask: "Which balance does P2 record?",
      choices: [
        wrong("100", "The 30 arrived before the marker."),
        right("130", "Channels keep the order: what was sent before the marker arrives before it."),
        wrong("80", "P2 pays 50 to P3 only later."),
      ],
      until: { ms: 15, node: 3, event: "output", text: "records its state for snapshot P1#1" },
      explain: "P3 records 80: it has paid 20.",
      rules: ["CL2"],
    },
    {
      after: { ms: 16, node: 2, event: "send", peer: 3 },
      tell: "P2 pays 50 to P3, after both have recorded their states.",
      ask: "What will the snapshot's sum be?",
      choices: [
        wrong("350", "Are P2's 50 in P2's recorded balance, or on the way?"),
        right("300", "70 + 130 + 80 in accounts and 20 on the way. P2's 50 come after its marker and do not count as on the way."),
        wrong("250", "P2 had recorded 130 before it paid."),
      ],
      until: { ms: 25, node: 2, event: "output", text: "completes its part of snapshot P1#1" },
      explain: "The cut never was at one moment. But it could have been: nothing in it depends on something outside.",
      rules: ["CL4", "CL5"],
      sent: { MARKER: 6, TRANSFER: 3 },
    },
  ],
  end: "Markers cut a run in two without stopping it. It needs channels that keep the order.",
  further: [
    { exhibit: "snapshot-bank-money-on-the-way", say: "The same run, yours to break" },
    { exhibit: "check-snapshot-without-fifo", say: "Without FIFO channels the sum is wrong" },
  ],
};
