import { describe, expect, test } from "vitest";
import { readFileSync } from "node:fs";
import type { Schemas } from "../api/client";
import { applyFilter, filterLink, readFilter, type Filter } from "./filter";

const exhibit = (id: string, more: Partial<Schemas["Exhibit"]> = {}): Schemas["Exhibit"] => ({
  id, title: "A title", look: "Look.", family: "election", algorithm: "bully", counterexample: false, scenario: "run\n", ...more,
});
const ALL = [
  exhibit("one", { title: "The Token is lost" }),
  exhibit("two", { look: "P4 hears nothing of the token.", scenario: "run\nexpect violation one-inside\n", family: "mutex", algorithm: "suzuki-kasami" }),
  exhibit("four", { scenario: "run\nexpect violation none\n" }),
  exhibit("check-three", { counterexample: true, scenario: "# expect violation\nrun\n" }),
];
const NONE: Filter = { family: null, algorithm: null, only: null, words: "" };
const ids = (filter: Partial<Filter>) => applyFilter(ALL, { ...NONE, ...filter }, null).map(({ id }) => id);

describe("a filter", () => {
  test("finds words in all that a card says, in any order and any case", () => {
    expect(ids({ words: "TOKEN" })).toEqual(["one", "two"]);
    expect(ids({ words: "lost token" })).toEqual(["one"]);
    expect(ids({ words: "suzuki" })).toEqual(["two"]);
    expect(ids({ words: "  " })).toEqual(["one", "two", "four", "check-three"]);
    expect(ids({ words: "paxos" })).toEqual([]);
  });

  test("keeps what ends in a violation, by what the scenario expects", () => {
    expect(ids({ only: "violations" })).toEqual(["two"]);
    expect(ids({ only: "counterexamples" })).toEqual(["check-three"]);
  });

  test("is what its link says", () => {
    for (const filter of [NONE, { ...NONE, words: "lost & found", only: "violations" as const }, { ...NONE, family: "mutex", algorithm: "lamport" }]) {
      expect(readFilter(new URLSearchParams(filterLink(filter).split("#")[1] ?? ""))).toEqual(filter);
    }
    expect(readFilter(new URLSearchParams("only=nonsense")).only).toBeNull();
  });
});

test("every run of the gallery that ends in a violation says so in its scenario", () => {
  const list = readFileSync(new URL("../../../scenarios/gallery.txt", import.meta.url), "utf8");
  const paths = [...list.matchAll(/^scenario (counterexample\/.*)$/gm)].map(([, path]) => path!);
  expect(paths.length).toBeGreaterThan(10);
  for (const path of paths) {
    const text = readFileSync(new URL(`../../../scenarios/${path}`, import.meta.url), "utf8");
    expect(text, path).toMatch(/^expect violation (?!none\b)/m);
  }
});
