import { describe, expect, test } from "vitest";
import type { Schemas } from "../api/client";
import { FAULTS, newAsk, startingForm, type FaultKind, type RunForm } from "./form";
import { lineSpan, mistakeAt, scenarioText } from "./scenario-text";

const PLAIN: Schemas["Algorithm"] = {
  name: "bully",
  title: "Bully",
  family: "election",
  source: "",
  cost: "",
  topology: "mesh",
  assumes: [],
  about: "",
  rules: [],
  verbs: ["suspect", "start"],
  options: [],
  nodes: null,
  has_section: false,
  scenario: "",
};
const made = (change: Partial<RunForm> = {}, algorithm = PLAIN) =>
  scenarioText(algorithm, { ...startingForm(algorithm), ...change });

describe("the text of a form", () => {
  test("a starting form is a run worth looking at", () => {
    expect(made()).toBe("cluster bully 1..5 latency=10ms seed=1\ncrash 5 at=0ms\nsuspect 2 at=10ms\nrun\n");
  });

  test("ids of one's own count before the number", () => {
    expect(made({ ids: " 3, 5,0 " })).toContain("cluster bully 3,5,0 ");
    expect(made({ nodes: 1 })).toContain("cluster bully 1 ");
  });

  test("each kind of latency", () => {
    expect(made({ latency: { kind: "range", ms: 5, toMs: 20 } })).toContain("latency=5ms..20ms");
    expect(made({ latency: { kind: "exp", ms: 7, toMs: 0 } })).toContain("latency=exp:7ms");
    expect(made({ latency: { kind: "range", ms: 5, toMs: 5 } })).toContain("latency=5ms ");
  });

  test("what is left as it is is not said", () => {
    const text = made({ seed: 0 });
    for (const setting of ["loss", "seed", "timeout", "detection", "coordinator", "section", "textbook", "tree"])
      expect(text).not.toContain(setting);
  });

  test("what is chosen is said", () => {
    const text = made({
      loss: 0.1,
      seed: 7,
      timeoutMs: 100,
      detection: true,
      coordinator: "none",
      reorder: true,
      forMs: 250,
    });
    expect(text).toContain("coordinator=none latency=10ms timeout=100ms detection=on loss=0.1 reorder seed=7\n");
    expect(text).toContain("\nrun for=250ms\n");
  });

  test("a section and a tree only where there is one", () => {
    const raymond = { ...PLAIN, name: "raymond", topology: "tree", has_section: true, verbs: ["work"] };
    expect(made({ textbook: true, sectionMs: 5, tree: "star" }, raymond)).toContain("textbook section=5ms tree=star");
    expect(made({ textbook: true, sectionMs: 5, tree: "star" })).not.toMatch(/textbook|section|tree/);
  });

  test("the algorithm's own settings, and no others", () => {
    const options = [
      { name: "traitors", value: "IDS", help: "" },
      { name: "force", value: null, help: "" },
    ];
    const text = made({ options: { traitors: " 1, 4 ", force: true, other: "x" } }, { ...PLAIN, options });
    expect(text).toContain(" traitors=1,4 force\n");
    expect(text).not.toContain("other");
    expect(made({ options: { traitors: "", force: false } }, { ...PLAIN, options })).not.toMatch(/traitors|force/);
  });

  test("deeds come in the order of their times", () => {
    const text = made({
      faults: [
        { kind: "heal", what: "", atMs: 30 },
        { kind: "partition", what: "1, 2 | 3", atMs: 5 },
      ],
      asks: [newAsk("start", "1, 2", 5), { verb: "transfer:TO:AMOUNT", parts: ["2", "30"], who: "all", atMs: 2 }],
    });
    expect(text.split("\n").slice(1, -2)).toEqual([
      "transfer:2:30 all at=2ms",
      "partition 1,2|3 at=5ms",
      "start 1 2 at=5ms",
      "heal at=30ms",
    ]);
  });
});

test("a mistake is found in what the server says", () => {
  expect(mistakeAt("2:9: there is no process 9\n  crash 1 9\n          ^")).toEqual({ line: 2, column: 9 });
  expect(mistakeAt("scenario:12:1: no command")).toEqual({ line: 12, column: 1 });
  expect(mistakeAt("line 3, column 4: no")).toEqual({ line: 3, column: 4 });
  expect(mistakeAt("the run is too large")).toBeNull();
});

test("a line is found in its text", () => {
  const text = "one\ntwo\n\nfour";
  expect([1, 2, 3, 4, 99].map((line) => text.slice(...lineSpan(text, line)))).toEqual([
    "one",
    "two",
    "",
    "four",
    "four",
  ]);
});

// With the address of a running server, what the form writes is tried on it: BELLWETHER=http://127.0.0.1:7490
const server = process.env["BELLWETHER"];

describe.runIf(server)("a server accepts what the form writes", async () => {
  const ask = async <T>(path: string, body?: unknown) => {
    const init =
      body === undefined
        ? {}
        : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    const answer = await fetch(`${server}/v1/explore/${path}`, init);
    return { status: answer.status, said: (await answer.json()) as T };
  };
  const { algorithms } = server ? (await ask<Schemas["Catalogue"]>("catalogue")).said : { algorithms: [] };

  test.each(algorithms)("$name: its starting form, and something happens in it", async (algorithm) => {
    const { status, said } = await ask<Schemas["Run"]>("run", {
      scenario: scenarioText(algorithm, startingForm(algorithm)),
    });
    expect({ status, remarks: said.remarks }).toEqual({ status: 200, remarks: [] });
    expect(said.events.length).toBeGreaterThan(0);
  });

  test.each(algorithms)("$name: every verb and every fault", async (algorithm) => {
    const start = startingForm(algorithm);
    const faults = (Object.keys(FAULTS) as FaultKind[]).map((kind) => ({
      kind,
      what: FAULTS[kind].example(start.nodes),
      atMs: 60,
    }));
    const asks = algorithm.verbs.map((verb) => newAsk(verb, "1", 50));
    const scenario = scenarioText(algorithm, { ...start, asks, faults, forMs: 100 });
    const { status, said } = await ask<{ error?: string }>("run", { scenario });
    expect({ status, error: said.error }, scenario).toEqual({ status: 200, error: undefined });
  });
});
