import { useEffect, useRef } from "preact/hooks";
import type { Flashes } from "./flashes";

/** The size of the picture, and of a member in it. */
export const WIDTH = 420;
export const HEIGHT = 300;
export const RADIUS = 22;
/** Sixty frames a second would make nothing clearer, and warm the room. */
const FRAME_MS = 1_000 / 30;

interface Point {
  x: number;
  y: number;
}

/** On a circle, the first at the top. */
export function positions(ids: readonly number[]): Map<number, Point> {
  return new Map(ids.map((id, place) => {
    const angle = (2 * Math.PI * place) / ids.length - Math.PI / 2;
    return [id, { x: WIDTH / 2 + 160 * Math.cos(angle), y: HEIGHT / 2 + 12 + 105 * Math.sin(angle) }];
  }));
}

/** The flashes, on a canvas above the picture: there are too many and they are too short for elements. */
export function Sparks({ flashes, points }: { flashes: Flashes; points: Map<number, Point> }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const where = useRef(points);
  where.current = points;
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const scale = Math.min(2, window.devicePixelRatio);
    [context.canvas.width, context.canvas.height] = [WIDTH * scale, HEIGHT * scale];
    context.scale(scale, scale);
    let before = 0;
    let frame = requestAnimationFrame(draw);
    function draw(now: number) {
      if (context && now - before >= FRAME_MS - 2) {
        paint(context, flashes, where.current);
        before = now;
      }
      frame = requestAnimationFrame(draw);
    }
    return () => cancelAnimationFrame(frame);
  }, [flashes]);
  return <canvas ref={canvas} aria-hidden="true" />;
}

function paint(context: CanvasRenderingContext2D, flashes: Flashes, points: Map<number, Point>) {
  const style = getComputedStyle(context.canvas);
  // A canvas knows no variables; the colours are those of the sheet's properties that take one.
  const [beat, word, lost] = [style.color, style.caretColor, style.outlineColor];
  context.clearRect(0, 0, WIDTH, HEIGHT);
  context.font = `600 11px ${style.fontFamily}`;
  context.textAlign = "center";
  for (const { flash, done } of flashes.flying(performance.now())) {
    const [from, to] = [points.get(flash.from), points.get(flash.to)];
    if (!from || !to) continue;
    // From the rim of one circle to the rim of the other; a cut message gets no further than the middle.
    const rim = RADIUS / Math.hypot(to.x - from.x, to.y - from.y);
    const way = rim + (1 - 2 * rim) * Math.min(done, flash.cut ? 0.5 : 1);
    const x = from.x + (to.x - from.x) * way;
    const y = from.y + (to.y - from.y) * way;
    context.globalAlpha = flash.overhead ? 0.55 : 1;
    context.fillStyle = flash.cut ? lost : flash.overhead ? beat : word;
    if (flash.cut && done > 0.5) {
      context.fillText("×", x, y + 4);
      continue;
    }
    context.beginPath();
    context.arc(x, y, flash.overhead ? 2.5 : 5, 0, 2 * Math.PI);
    context.fill();
    if (!flash.overhead) context.fillText(flash.kind, x, y - 8);
  }
  context.globalAlpha = 1;
}
