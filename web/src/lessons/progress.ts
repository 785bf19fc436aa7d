import type { LessonData } from "./types";

/** How far the viewer is in a lesson. */
export interface Progress {
  /** 0 before the first stop, k at the kth, one more than there are at the end. */
  stop: number;
  /** What was answered at this stop, by its index; null if nothing yet. */
  answer: number | null;
}

/** What a link says about it; what makes no sense is as good as nothing. */
export function readProgress(lesson: LessonData, params: URLSearchParams): Progress {
  const stop = whole(params.get("stop"), lesson.stops.length + 1) ?? 0;
  const choices = lesson.stops[stop - 1]?.choices.length ?? 0;
  return { stop, answer: choices > 0 ? whole(params.get("answer"), choices - 1) : null };
}

function whole(text: string | null, max: number): number | null {
  return text !== null && /^\d{1,3}$/.test(text) && Number(text) <= max ? Number(text) : null;
}

/** The parameters of the link that says it. */
export function writeProgress(lesson: LessonData, { stop, answer }: Progress): URLSearchParams {
  const params = new URLSearchParams({ lesson: lesson.name });
  if (stop > 0) params.set("stop", String(stop));
  if (answer !== null) params.set("answer", String(answer));
  return params;
}

/** The stop that comes next, not yet answered. */
export const nextStop = ({ stop }: Progress): Progress => ({ stop: stop + 1, answer: null });

/** The stop before, not yet answered. */
export const stopBefore = ({ stop }: Progress): Progress => ({ stop: Math.max(stop - 1, 0), answer: null });
