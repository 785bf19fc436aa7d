import { expect, test } from "vitest";
import { ALL } from "./all";
import { readProgress, writeProgress, type Progress } from "./progress";

const bully = ALL[0]!;
const read = (text: string) => readProgress(bully, new URLSearchParams(text));

test("a link keeps how far one is", () => {
  const all: Progress[] = [
    { stop: 0, answer: null },
    { stop: 3, answer: null },
    { stop: 3, answer: 0 },
    { stop: bully.stops.length + 1, answer: null },
  ];
  for (const progress of all) expect(readProgress(bully, writeProgress(bully, progress))).toEqual(progress);
});

test("what makes no sense in a link is left out", () => {
  for (const stop of ["-1", "99", "x", "1.5", ""])
    expect(read(`lesson=bully&stop=${stop}&answer=1`)).toEqual({ stop: 0, answer: null });
  for (const answer of ["7", "-1", "a"])
    expect(read(`lesson=bully&stop=2&answer=${answer}`)).toEqual({ stop: 2, answer: null });
  expect(read("lesson=bully&answer=1")).toEqual({ stop: 0, answer: null });
});
