import type { Choice } from "./types";

/** The right answer, and why. */
export const right = (say: string, because: string): Choice => ({ say, right: true, because });

/** A wrong answer, and a hint for who has chosen it. */
export const wrong = (say: string, hint: string): Choice => ({ say, because: hint });
