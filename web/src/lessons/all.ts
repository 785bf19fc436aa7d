import { LESSONS } from "./list";
import type { LessonBody, LessonData } from "./types";

const FILES = import.meta.glob<LessonBody>("./*.lesson.ts", { eager: true, import: "lesson" });

/** All lessons, as the gallery lists them. */
export const ALL: readonly LessonData[] = LESSONS.flatMap((announced) => {
  const body = FILES[`./${announced.name}.lesson.ts`];
  return body ? [{ ...announced, ...body }] : [];
});
