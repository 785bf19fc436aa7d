/** How a line is drawn. */
export interface Stroke {
  colour: string;
  width: number;
  dash?: readonly number[];
}

/** How words are written. */
export interface Type {
  size: number;
  colour: string;
  bold?: boolean;
  align?: "start" | "middle" | "end";
  /** Turned by this many radians around their own place. */
  angle?: number;
  /** The colour that keeps them apart from what lies under them. */
  halo?: string;
}

/** What the diagram is drawn on: a canvas to look at, or the text of an SVG file to keep. */
export interface Surface {
  /** Lines, each by four numbers: from x, y to x, y. */
  lines(xyxy: readonly number[], stroke: Stroke): void;
  /** Circles, each by three numbers: x, y and radius. */
  circles(xyr: readonly number[], fill: string, stroke?: Stroke): void;
  /** Closed shapes, each by its corners. */
  shapes(corners: readonly (readonly number[])[], fill: string | null, stroke?: Stroke): void;
  rect(x: number, y: number, width: number, height: number, fill: string, stroke?: Stroke, radius?: number): void;
  text(words: string, x: number, y: number, type: Type): void;
}

/** The typeface of the diagram. */
export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';

/**
 * About how wide words are. It must not depend on what they are drawn on, or a picture that is kept
 * would differ from the one that was looked at.
 */
export function widthOf(words: string, size: number): number {
  let ems = 0;
  for (const letter of words) {
    if (/[A-Z0-9→←#%&@mw+=<>~]/.test(letter)) ems += letter === "I" || letter === "1" ? 0.5 : 0.7;
    else ems += /[ijlt.,:;|'()[\]! fr]/.test(letter) ? 0.38 : 0.6;
  }
  return ems * size;
}
