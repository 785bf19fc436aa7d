import { EXPLORE, navigate } from "../place";
import { packSource } from "./links";
import type { Recording } from "./recording";
import { writeTrace } from "./trace";

/** What a person opens: a scenario's text, or a trace as `readTrace` has read it. */
export type Opened = { scenario: string } | { recording: Recording; name: string; problem: string | null };

/** Traces that this window has opened and that are too large for a link, by name. */
export const openedFiles = new Map<string, Recording>();

/** What was wrong with the file that was opened last, so that the explorer can tell. */
export const fileProblems = new Map<Recording, string>();

/** Longer links than this are not passed on well by mail and chat. */
const LINK_MAX = 16_000;

/**
 * Shows a run that was opened or asked for. A scenario always fits into a link, and so does a short
 * trace; a longer one stays in this window.
 */
export async function openRun(opened: Opened): Promise<void> {
  if ("scenario" in opened) return go(await packSource({ scenario: opened.scenario }));
  const packed = await packSource({ trace: writeTrace(opened.recording) });
  if (opened.problem === null && packed.toString().length <= LINK_MAX) return go(packed);
  openedFiles.set(opened.name, opened.recording);
  if (opened.problem !== null) fileProblems.set(opened.recording, opened.problem);
  go(await packSource({ file: opened.name }));
}

const go = (params: URLSearchParams) => navigate(`${EXPLORE}#${params}`);
