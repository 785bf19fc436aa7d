import { expect, test } from "vitest";
import { layTopology, type Spot } from "./layout";
import { Words } from "./words";

const flight = (from: number, to: number, text: string) => ({ send: 0, arrive: null, why: null, kind: 0, from, to, text });

/** Where a message is, on the right-hand side of its link. */
function on(from: Spot, to: Spot, done: number): Spot {
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  const [ux, uy] = [(to.x - from.x) / length, (to.y - from.y) / length];
  return { x: from.x + ux * length * done - uy * 5, y: from.y + uy * length * done + ux * 5, outX: -uy, outY: ux };
}

test.each([2, 3, 4, 5, 7])("words run into nothing and stay within the picture, %i processes", (count) => {
  const nodes = Array.from({ length: count }, (_, index) => index + 1);
  const layout = layTopology({ schema: "", algorithm: "", title: "", seed: 0, topology: "mesh", nodes, coordinators: {} });
  let shown = 0;
  for (let done = 0.2; done < 0.85; done += 0.05) {
    const words = new Words(layout);
    for (const from of nodes) {
      for (const to of nodes) {
        if (from === to) continue;
        words.add(flight(from, to, "HEARTBEAT(1, 1.3)"), on(layout.spots.get(from)!, layout.spots.get(to)!, done), 11);
      }
    }
    const { all } = words;
    shown += all.length;
    for (const { text, x, y, width } of all) {
      expect(x, text).toBeGreaterThanOrEqual(0);
      expect(x + width, text).toBeLessThanOrEqual(layout.width);
      for (const node of layout.spots.values()) {
        const isOver = x < node.x + layout.radius * 0.7 && node.x - layout.radius * 0.7 < x + width && Math.abs(node.y - (y - 5)) < layout.radius * 0.7;
        expect(isOver, `${text} over a process`).toBe(false);
      }
      for (const other of all) {
        if (other.x === x && other.y === y) continue;
        expect(Math.abs(other.y - y) < 10 && other.x < x + width && x < other.x + other.width, `${text} over ${other.text}`).toBe(false);
      }
    }
  }
  expect(shown).toBeGreaterThan(13);
});
