import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { grouped } from "./filter";
import { membersOf, sketch, storyOf } from "./sketch";

const SCENARIOS = new URL("../../../scenarios/", import.meta.url);
const read = (name: string) => readFileSync(new URL(name, SCENARIOS), "utf8");

test("the story of the first example becomes a picture", () => {
  const drawing = sketch(read("election/bully-p1-to-p4.txt"));
  expect(drawing?.members).toEqual([4, 3, 2, 1]);
  expect(drawing?.arrows).toHaveLength(20);
  expect(drawing?.crashes.map(({ row }) => drawing.members[row])).toEqual([1, 4]);
  expect(drawing?.crowned.map(({ row }) => drawing.members[row])).toEqual([3, 4]);
});

test("a message that does not arrive is one arrow", () => {
  const drawing = sketch(read("counterexample/bully-partition.txt"));
  expect(drawing?.arrows.map(({ arrives }) => arrives)).toEqual([false, false]);
});

test("every picture lies within its frame", () => {
  for (const folder of readdirSync(SCENARIOS, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
    for (const file of readdirSync(new URL(`${folder.name}/`, SCENARIOS))) {
      const drawing = sketch(read(`${folder.name}/${file}`));
      for (const { from, to, x1, x2 } of drawing?.arrows ?? []) {
        expect(Math.min(from, to), file).toBeGreaterThanOrEqual(0);
        expect(x1 >= 0 && x1 <= x2 && x2 <= 1, file).toBe(true);
      }
    }
  }
});

test("without a story there is no picture", () => {
  expect(sketch("cluster bully 1..4\nrun\n")).toBeNull();
  expect(sketch("")).toBeNull();
  expect(storyOf("---\nnot a line of a story\n")).toEqual([]);
});

test("members are read as scenarios write them", () => {
  expect(membersOf("cluster ring 3,5,0,1")).toEqual([5, 3, 1, 0]);
  expect(membersOf("# a comment\ncluster bully 1..3,7 seed=1")).toEqual([7, 3, 2, 1]);
  expect(membersOf("cluster bully x")).toEqual([]);
  expect(membersOf("cluster bully 1..1000000000")).toHaveLength(64);
});

test("exhibits are grouped in the catalogue's order", () => {
  const exhibit = (id: string, family: string, counterexample = false) => ({
    id,
    family,
    counterexample,
    title: id,
    look: "",
    algorithm: family,
    scenario: "",
  });
  const all = [exhibit("a", "mutex"), exhibit("b", "election", true), exhibit("c", "unheard-of")];
  const catalogue = {
    version: "",
    algorithms: [],
    limits: { nodes: 1, events: 1, scenario_bytes: 1 },
    families: [
      { name: "election", title: "Elections", about: "" },
      { name: "mutex", title: "Mutual exclusion", about: "" },
    ],
  };
  expect(grouped(all, catalogue).map(({ title }) => title)).toEqual(["Elections", "Mutual exclusion", "unheard-of"]);
  expect(grouped(all, null).map(({ name }) => name)).toEqual(["mutex", "election", "unheard-of"]);
});
