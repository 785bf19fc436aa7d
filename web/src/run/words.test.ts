import { expect, test } from "vitest";
import { timerWords } from "./words";

test.each([
  ["Silence", "“silence”"],
  ["RoundEnds(2)", "“round ends 2”"],
  ["Election(AckTimeout)", "“ack timeout” of the election"],
  ["Election(Election(Crossing))", "“crossing” of the election"],
  ["Probe(P3)", "“probe P3”"],
])("the timer %s is called %s", (name, words) => expect(timerWords(name)).toBe(words));
