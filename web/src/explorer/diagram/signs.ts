/** The corners of an arrow's head that ends at (x2, y2). */
export function arrowHead(x1: number, y1: number, x2: number, y2: number, size: number): number[] {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
  const [bx, by] = [x2 - ux * size, y2 - uy * size];
  const half = size * 0.42;
  return [x2, y2, bx - uy * half, by + ux * half, bx + ux * size * 0.25, by + uy * size * 0.25, bx + uy * half, by - ux * half];
}

/** The two lines of a cross. */
export const cross = (x: number, y: number, r: number) => [x - r, y - r, x + r, y + r, x - r, y + r, x + r, y - r];

/** A crown that stands on (x, y). */
export const crown = (x: number, y: number, r: number) => [
  x - r, y + r * 0.7, x - r, y - r * 0.6, x - r * 0.5, y, x, y - r, x + r * 0.5, y, x + r, y - r * 0.6, x + r, y + r * 0.7,
];

/** A triangle that points down at a line. */
export const triangle = (x: number, y: number, r: number) => [x - r, y - r * 0.8, x + r, y - r * 0.8, x, y + r];

/** An hourglass: two triangles that meet. */
export const hourglass = (x: number, y: number, r: number) => [
  [x - r * 0.8, y - r, x + r * 0.8, y - r, x, y],
  [x - r * 0.8, y + r, x + r * 0.8, y + r, x, y],
];
