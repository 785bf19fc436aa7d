import { useEffect, useRef } from "preact/hooks";

/** Words change so often; the bar moves with every frame. */
const WORDS_EVERY_MS = 100;

/** What is left of a lease. Between two glances it runs out by the page's own clock. */
export function Lease(props: { leaseMs: number; fullMs: number; at: number }) {
  const bar = useRef<HTMLDivElement>(null);
  const words = useRef<HTMLSpanElement>(null);
  const { leaseMs, fullMs, at } = props;
  useEffect(() => {
    let said = -Infinity;
    let frame = requestAnimationFrame(draw);
    function draw() {
      const now = performance.now();
      const left = Math.max(0, leaseMs - (now - at));
      if (bar.current) bar.current.style.transform = `scaleX(${fullMs > 0 ? Math.min(1, left / fullMs) : 0})`;
      if (words.current && now - said >= WORDS_EVERY_MS) {
        words.current.textContent = left > 0 ? `${(left / 1_000).toFixed(1)} s left` : "run out, unless renewed";
        said = now;
      }
      frame = requestAnimationFrame(draw);
    }
    return () => cancelAnimationFrame(frame);
  }, [leaseMs, fullMs, at]);
  return (
    <div class="lease">
      <div class="track" aria-hidden="true"><div class="left" ref={bar} /></div>
      <span ref={words} />
    </div>
  );
}
