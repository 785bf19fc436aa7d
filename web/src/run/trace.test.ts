import { describe, expect, test } from "vitest";
import { sampleText } from "./sample";
import { readTrace, writeTrace } from "./trace";

const text = sampleText("bully");

describe("a saved trace", () => {
  test("is read whole", () => {
    const { recording, problem } = readTrace(text);
    expect(problem).toBeNull();
    expect(recording.header.nodes).toEqual([1, 2, 3, 4]);
    expect(recording.events).toHaveLength(text.trimEnd().split("\n").length - 1);
  });

  test("is written as it was read", () => {
    expect(writeTrace(readTrace(text).recording)).toBe(text);
  });

  test("that was cut short is read up to there, and says where", () => {
    const { recording, problem } = readTrace(text.slice(0, -40));
    expect(recording.events).toHaveLength(20);
    expect(problem).toMatch(/line 22.*cut short/);
  });

  test("with a line that makes no sense says which and why", () => {
    const lines = text.split("\n");
    const broken = (line: string) => readTrace([...lines.slice(0, 3), line, ...lines.slice(4)].join("\n"));
    expect(broken("nonsense").problem).toMatch(/^Line 4 is not a JSON object/);
    expect(broken('{"us":1,"node":9,"lamport":1,"vector":{},"event":"crash"}').problem).toMatch(/not in line 1: 9/);
    expect(broken('{"us":1,"node":1,"lamport":1,"vector":{},"event":"dance"}').problem).toMatch(/unknown kind: dance/);
    expect(broken('{"us":1,"node":1,"lamport":1,"vector":{},"event":"output"}').problem).toMatch(/has no text/);
    expect(broken('{"node":1,"lamport":1,"vector":{},"event":"crash"}').problem).toMatch(/has no time/);
    expect(broken('{"us":1,"node":1,"lamport":1,"vector":{},"event":"send","text":"X"}').problem).toMatch(/message/);
    expect(broken("nonsense").recording.events).toHaveLength(2);
  });

  test("of another version, or no trace at all, is refused by name", () => {
    expect(() => readTrace(text.replace("trace/1", "trace/2"))).toThrow(/another version, bellwether.trace\/2/);
    expect(() => readTrace('{"schema":"other/7"}')).toThrow(/another format, other\/7/);
    expect(() => readTrace("cluster bully 1..4\nrun\n")).toThrow(/not a trace/);
    expect(() => readTrace("")).toThrow(/empty/);
    expect(() => readTrace("[]")).toThrow(/not a trace/);
    expect(() => readTrace('{"schema":"bellwether.trace/1","nodes":"all"}')).toThrow(/nodes/);
    const many = JSON.stringify(Array.from({ length: 1000 }, (_, id) => id));
    expect(() => readTrace(`{"schema":"bellwether.trace/1","nodes":${many}}`)).toThrow(/1000 processes/);
  });

  test("from elsewhere may have a byte order mark, other line ends and unknown fields", () => {
    const foreign = "\ufeff" + text.replaceAll("\n", "\r\n").replace('"seed":7', '"seed":7,"new":[1]');
    const { recording, problem } = readTrace(foreign);
    expect(problem).toBeNull();
    expect(recording.events).toHaveLength(21);
  });

  test("without any event is a run in which nothing happens", () => {
    expect(readTrace(text.split("\n")[0]!).recording.events).toEqual([]);
  });
});
