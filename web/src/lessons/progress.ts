import type { LessonData } from "./types";

/** How far the viewer is in a lesson. */
export interface Progress {
  /** 0 before the first stop, k at the kth, one more than there are at the end. */
  stop: number;
  /** What was answered at this stop, by its index; null if nothing yet. */
  answer: number | null;
  /** Whether the viewer has asked for the solution. */
  shown?: boolean;
}

/** Whether the answer may be seen: it was found, or asked for. */
export function isSolved(lesson: LessonData, { stop, answer, shown }: Progress): boolean {
  return Boolean(shown || (answer !== null && lesson.stops[stop - 1]?.choices[answer]?.right));
}

/** What a link says about it; what makes no sense is as good as nothing. */
export function readProgress(lesson: LessonData, params: URLSearchParams): Progress {
  const stop = whole(params.get("stop"), lesson.stops.length + 1) ?? 0;
  const choices = lesson.stops[stop - 1]?.choices.length ?? 0;
  const answer = choices > 0 ? whole(params.get("answer"), choices - 1) : null;
  return params.has("solution") ? { stop, answer, shown: true } : { stop, answer };
}

function whole(text: string | null, max: number): number | null {
  return text !== null && /^\d{1,3}$/.test(text) && Number(text) <= max ? Number(text) : null;
}

/** The parameters of the link that says it. */
export function writeProgress(lesson: LessonData, { stop, answer, shown }: Progress): URLSearchParams {
  const params = new URLSearchParams({ lesson: lesson.name });
  if (stop > 0) params.set("stop", String(stop));
  if (answer !== null) params.set("answer", String(answer));
  if (shown) params.set("solution", "1");
  return params;
}

/** The stop that comes next, not yet answered. */
export const nextStop = ({ stop }: Progress): Progress => ({ stop: stop + 1, answer: null });

/** The stop before, not yet answered. */
export const stopBefore = ({ stop }: Progress): Progress => ({ stop: Math.max(stop - 1, 0), answer: null });

/** The stop that stands for the end of a lesson. */
export const DONE = 1000;

const KEPT = "bellwether.lessons";

/** How far the viewer has come in each lesson, as this browser remembers it: the farthest stop. */
export function keptProgress(): Readonly<Record<string, number>> {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEPT) ?? "{}");
    return typeof kept === "object" && kept !== null ? (kept as Record<string, number>) : {};
  } catch {
    return {}; // a browser may forbid it, or another page has written something else there
  }
}

/** Remembers a stop, if it is farther than any before. */
export function keepProgress(lesson: string, stop: number) {
  const kept = keptProgress();
  if ((kept[lesson] ?? 0) >= stop) return;
  try {
    localStorage.setItem(KEPT, JSON.stringify({ ...kept, [lesson]: stop }));
  } catch {
    // the lesson goes on without
  }
}
