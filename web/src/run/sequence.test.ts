import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { sampleRecording } from "./sample";
import { mermaid, plantuml, shiviz } from "./sequence";

const DOCS = readFileSync(new URL("../../../docs/traces.md", import.meta.url), "utf8");

test("sequence diagrams are those of the command line, which the documentation shows", () => {
  const run = sampleRecording("bully");
  for (const diagram of [mermaid(run), plantuml(run)]) {
    expect(diagram.length).toBeGreaterThan(300);
    expect(DOCS).toContain(diagram);
  }
});

test("a log for ShiViz begins as that of the command line, which the documentation shows", () => {
  const log = shiviz(sampleRecording("bully"));
  const [, shown = ""] = /## ShiViz[^]*?```text\n([^]*?)```/.exec(DOCS) ?? [];
  expect(shown.length).toBeGreaterThan(200);
  expect(log.startsWith(shown)).toBe(true);
  expect(shiviz(sampleRecording("storm"))).not.toMatch(/undefined|null/);
});

test("what befell messages and the network is there, and texts cannot break out", () => {
  const run = sampleRecording("storm");
  expect(mermaid(run)).toMatch(/^ {4}P3-xP2: TOKEN \(cut\)$/m);
  expect(plantuml(run)).toMatch(/^P3 ->x P2: TOKEN \(cut\)$/m);
  const [event] = run.events.filter(({ event }) => event === "output");
  const odd = { ...run, events: [{ ...event!, text: "a;b\n**c** <d>" }] } as typeof run;
  expect(mermaid(odd)).toContain("a#59;b **c** #60;d#62;");
  expect(plantuml(odd)).toContain("a;b ~*~*c~*~* ~<d>");
});
