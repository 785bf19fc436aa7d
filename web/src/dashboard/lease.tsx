import { useEffect, useRef } from "preact/hooks";

const WORDS_EVERY_MS = 100;

/** What is left of a lease. Between two glances it runs out by the page's own clock. */
export function Lease({ leaseMs, fullMs, at }: { leaseMs: number; fullMs: number; at: number }) {
  const bar = useRef<HTMLDivElement>(null);
  const words = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    const left = () => Math.max(0, leaseMs - (performance.now() - at));
    const say = () => {
      if (words.current) words.current.textContent = left() > 0 ? `${(left() / 1_000).toFixed(1)} s left` : "run out, unless renewed";
    };
    say();
    const timer = setInterval(say, WORDS_EVERY_MS);
    // The browser moves the bar by itself, without a frame of ours.
    const share = fullMs > 0 ? Math.min(1, left() / fullMs) : 0;
    const steps = [`scaleX(${share})`, "scaleX(0)"].map((transform) => ({ transform }));
    const run = bar.current?.animate(steps, { duration: left(), fill: "forwards" });
    return () => {
      clearInterval(timer);
      run?.cancel();
    };
  }, [leaseMs, fullMs, at]);
  return (
    <div class="lease">
      <div class="rail" aria-hidden="true"><div class="left" ref={bar} /></div>
      <span ref={words} />
    </div>
  );
}
