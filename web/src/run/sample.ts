import { readFileSync } from "node:fs";
import { modelOf, type Model } from "./model";
import type { Recording } from "./recording";
import { readTrace } from "./trace";

/** A recorded run, for tests: `bully` as in docs/traces.md, or `storm`, in which everything happens. */
export function sampleText(name: "bully" | "storm"): string {
  return readFileSync(new URL(`./testdata/${name}.jsonl`, import.meta.url), "utf8");
}

export const sampleRecording = (name: "bully" | "storm"): Recording => readTrace(sampleText(name)).recording;

export const sample = (name: "bully" | "storm"): Model => modelOf(sampleRecording(name));
