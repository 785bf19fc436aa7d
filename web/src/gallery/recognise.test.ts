import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { checkSize, decode, FILE_MAX, OpenError, recognise } from "./recognise";

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");
const TRACE = read("../lessons/fixtures/bully.jsonl");

function refused(act: () => unknown): OpenError {
  try {
    act();
  } catch (error) {
    if (error instanceof OpenError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

describe("what can be opened", () => {
  test("a scenario, with its comments", () => {
    const text = read("../../../scenarios/counterexample/bully-partition.txt");
    expect(recognise(text)).toEqual({ scenario: text });
    expect(recognise(text.replaceAll("\n", "\r\n"))).toEqual({ scenario: text });
  });

  test("a trace, whole or cut short", () => {
    const whole = recognise(TRACE);
    expect("trace" in whole && whole.trace.problem).toBeNull();
    const cut = recognise(TRACE.slice(0, 2000));
    expect("trace" in cut && cut.trace.problem).toMatch(/cut short/);
    expect("trace" in cut && cut.trace.recording.events.length).toBeGreaterThan(3);
  });
});

describe("what cannot be opened says what it is and what to do", () => {
  test("nothing at all", () => {
    expect(refused(() => checkSize(0)).message).toMatch(/empty/);
    expect(refused(() => recognise(" \n\n")).message).toMatch(/blanks/);
  });

  test("too much", () => {
    expect(() => checkSize(FILE_MAX)).not.toThrow();
    const error = refused(() => checkSize(50 * 1024 * 1024));
    expect(error.message).toBe("The file has 50 MB, and this page opens up to 20 MB.");
    expect(error.hint).toContain("--until");
  });

  test("not a text", () => {
    expect(refused(() => decode(new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0xff]))).message).toMatch(/not a text/);
    expect(refused(() => decode(new Uint8Array([65, 0, 66]))).message).toMatch(/not a text/);
    expect(refused(() => decode(new Uint8Array([0x1f, 0x8b, 8]))).hint).toMatch(/gunzip/);
    expect(decode(new TextEncoder().encode("cluster é"))).toBe("cluster é");
  });

  test("a trace of another version", () => {
    const error = refused(() => recognise(TRACE.replace("bellwether.trace/1", "bellwether.trace/9")));
    expect(error.message).toMatch(/another version, bellwether\.trace\/9/);
    expect(error.hint).toContain("--trace json");
  });

  test.each([
    ["<svg xmlns='x'></svg>", /picture/],
    ["sequenceDiagram\n", /Mermaid/],
    ["@startuml\n", /PlantUML/],
    ["digraph {}", /Graphviz/],
    ['P5 {"P5":1}\ntimer', /ShiViz/],
    ["Bully, 5 processes, seed 0\nvectors in ring order: P1 P2\n", /for reading/],
    ['{"agreed": true}', /not a trace/],
    ["Dear diary", /neither/],
  ])("%s", (text, says) => {
    expect(refused(() => recognise(text)).message).toMatch(says);
  });
});
