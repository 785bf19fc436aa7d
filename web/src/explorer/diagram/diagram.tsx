import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { relationsOf } from "../../run/causality";
import { LEAD } from "../../run/timeline";
import { sentence, inMs } from "../../run/words";
import type { Stage } from "../stage";
import { Easel } from "./easel";
import { diagramSvg } from "./export";
import { palette } from "./palette";
import { AXIS, eventAt, GUTTER, layPlan, stepAtX, xOf, type Plan } from "./plan";
import { neighbour } from "./neighbours";
import { Tooltip } from "./tooltip";
import { ZoomButtons, zoomed } from "./zoom";

/** Pixels per unit of the time line, before zooming. */
const SCALE = { wide: 120, narrow: 84 };
const NARROW = 600;
const LANE = { min: 13, max: 120 };

/** The space-time diagram: a line per process, time to the right, messages between them. */
export function Diagram({ stage, hideFuture = false }: { stage: Stage; hideFuture?: boolean }) {
  const { model } = stage;
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const easel = useMemo(() => new Easel(), [model]);
  const width = useSignal(0);
  const scroll = useSignal({ left: 0, top: 0 });
  const redraw = useSignal(0);
  // Drawing happens between renderings, where no guard sees it fail: the next rendering fails in its place.
  const failed = useSignal<unknown>(null);
  if (failed.value !== null) throw failed.value;
  const height = useSignal(0);
  const plan = useComputed(() => {
    const wide = width.value >= NARROW;
    const room = (height.value - AXIS - 44) / Math.max(1, model.header.nodes.length);
    const lane = Math.max(LANE.min, Math.min(LANE.max, room));
    return layPlan(model, (wide ? SCALE.wide : SCALE.narrow) * stage.zoom.value, lane, stage.stamps.value);
  });
  const relations = useComputed(() => (stage.lit.value === null ? null : relationsOf(model, stage.lit.value)));

  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      // The style sheet says how high it is; a scroll bar takes some of that.
      width.value = Math.floor(entry!.contentRect.width);
      height.value = Math.floor(entry!.contentRect.height);
    });
    observer.observe(scroller.current!);
    return () => observer.disconnect();
  }, []);

  // The diagram follows the moment, unless that is well in sight.
  useSignalEffect(() => {
    const x = xOf(plan.value, stage.place.value) - GUTTER;
    if (width.value === 0) return;
    const { left, top } = scroll.peek();
    const room = width.value - GUTTER;
    const wanted = Math.max(x - room * 0.68, Math.min(left, x - room * 0.3));
    const limit = Math.max(0, plan.value.width - width.value);
    const bounded = Math.round(Math.max(0, Math.min(wanted, limit)));
    if (bounded !== left) scroll.value = { left: bounded, top };
  });

  const frame = useRef(0);
  /** How far the browser has been told to scroll. */
  const scrolled = useRef(0);
  useSignalEffect(() => {
    // All of these are looked at here, so that a change of any of them draws again.
    const sight = {
      ...scroll.value,
      width: width.value,
      height: height.value,
      sharpness: Math.min(2, devicePixelRatio),
      place: stage.place.value,
      happened: stage.step.value.happened,
      relations: relations.value,
      lit: stage.lit.value,
      hideFuture,
    };
    const [laid, ink] = [plan.value, palette.value];
    redraw.value;
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => {
      const on = canvas.current;
      if (!on || sight.width === 0) return;
      const [pixelsWide, pixelsHigh] = [sight.width * sight.sharpness, sight.height * sight.sharpness];
      if (on.width !== pixelsWide || on.height !== pixelsHigh) [on.width, on.height] = [pixelsWide, pixelsHigh];
      try {
        if (easel.draw(on, laid, ink, sight)) redraw.value++;
      } catch (error) {
        failed.value = error;
        return;
      }
      // Last in the frame: it makes the browser lay the page out, which it then need not do again.
      if (scrolled.current === sight.left) return;
      scrolled.current = sight.left;
      scroller.current!.scrollLeft = sight.left;
    });
  });
  useEffect(() => () => cancelAnimationFrame(frame.current), []);

  // Pieces that are drawn beforehand need not be drawn while the slider is pulled.
  useEffect(() => {
    let idle = 0;
    const prepare: IdleRequestCallback = (deadline) => {
      try {
        while (deadline.timeRemaining() > 4 && easel.prepare(scroll.peek().left));
        idle = requestIdleCallback(prepare, { timeout: 2000 });
      } catch (error) {
        failed.value = error;
      }
    };
    idle = requestIdleCallback(prepare);
    return () => cancelIdleCallback(idle);
  }, [easel]);

  /** Stretches the diagram and leaves the moment where it is on the screen. */
  const zoomTo = (zoom: number) => {
    const place = stage.place.peek();
    const at = xOf(plan.peek(), place) - scroll.peek().left;
    stage.zoom.value = zoom;
    const left = Math.max(0, Math.min(xOf(plan.peek(), place) - at, plan.peek().width - width.peek()));
    scroll.value = { ...scroll.peek(), left: Math.round(left) };
  };
  useEffect(() => {
    const box = scroller.current!;
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey) return;
      event.preventDefault(); // or the browser would zoom the page
      zoomTo(zoomed(stage.zoom.peek(), Math.exp(-event.deltaY / 300)));
    };
    box.addEventListener("wheel", onWheel, { passive: false });
    return () => box.removeEventListener("wheel", onWheel);
  }, []);

  const point = (event: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const { left, top } = scroll.peek();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    return x < GUTTER - 6 || y > height.peek() - AXIS ? null : { x: x + left, y: y + top };
  };
  const visible = (index: number | null) => (index !== null && hideFuture && index >= stage.step.peek().happened ? null : index);
  const onPointerMove = (event: PointerEvent) => {
    if (event.pointerType === "touch") return;
    const at = point(event);
    stage.pointed.value = at && visible(eventAt(plan.peek(), at.x, at.y));
  };
  const onClick = (event: MouseEvent) => {
    const at = point(event);
    if (!at) return;
    const hit = visible(eventAt(plan.peek(), at.x, at.y));
    stage.picked.value = hit === stage.picked.peek() ? null : hit;
    stage.goTo(hit === null ? stepAtX(plan.peek(), at.x) : hit + 1);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const picked = stage.picked.peek();
    if (event.key === "Escape" && picked !== null) stage.picked.value = null;
    else if (event.key === "Enter" && picked !== null) stage.goTo(picked + 1);
    else if (event.key.startsWith("Arrow")) {
      const next = visible(neighbour(plan.peek(), picked ?? stage.step.peek().happened - 1, event.key));
      if (next !== null) stage.picked.value = next;
      if (next !== null) bring(plan.peek(), next);
    } else return;
    event.preventDefault();
  };
  /** Scrolls an event into sight. */
  const bring = (laid: Plan, index: number) => {
    const box = scroller.current!;
    const x = laid.x[index]! - scroll.peek().left;
    if (x < GUTTER + 20) box.scrollLeft += x - GUTTER - 60;
    else if (x > width.peek() - 20) box.scrollLeft += x - width.peek() + 80;
  };
  // From the event: the browser may tell of a scroll when the diagram has just been removed.
  const onScroll = ({ currentTarget: { scrollLeft: left, scrollTop: top } }: { currentTarget: HTMLElement }) => {
    if (Math.abs(left - scrolled.current) < 1 && top === scroll.peek().top) return; // this was us
    scrolled.current = left;
    scroll.value = { left, top };
  };

  // On paper stands the whole diagram, dark on white; the canvas has only what is seen. A lesson hides the future there, too.
  const printed = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const fill = () => hideFuture || (printed.current!.innerHTML = diagramSvg(model));
    const clear = () => (printed.current!.innerHTML = "");
    window.addEventListener("beforeprint", fill);
    window.addEventListener("afterprint", clear);
    return () => {
      window.removeEventListener("beforeprint", fill);
      window.removeEventListener("afterprint", clear);
    };
  }, [model, hideFuture]);

  return (
    <div class={hideFuture ? "diagram" : "diagram whole-on-paper"}>
      <div class="printed" ref={printed} aria-hidden="true" />
      <div
        class="scroller"
        ref={scroller}
        onScroll={onScroll}
        tabIndex={0}
        role="application"
        aria-label="Space-time diagram: the arrow keys select an event and highlight its past and future, Enter goes there, Escape deselects it"
        onKeyDown={onKeyDown}
      >
        <div class="paper" style={{ width: `${plan.value.width}px`, height: `${plan.value.height + AXIS}px` }}>
          <canvas
            ref={canvas}
            style={{ width: `${width.value}px`, height: `${height.value}px` }}
            onPointerMove={onPointerMove}
            onPointerLeave={() => (stage.pointed.value = null)}
            onClick={onClick}
          />
        </div>
      </div>
      <ZoomButtons stage={stage} zoom={stage.zoom.value} fit={fitOf(plan.value, stage.zoom.value, width.value)} onZoom={zoomTo} />
      <Tooltip stage={stage} plan={plan} scroll={scroll} width={width} height={height} relations={relations} />
      <p class="visually-hidden" aria-live="polite">
        {stage.picked.value === null ? "" : spoken(stage, stage.picked.value)}
      </p>
    </div>
  );
}

/** The zoom at which the whole diagram is as wide as the room for it. */
function fitOf(plan: Plan, zoom: number, width: number): number {
  const stretched = plan.end - xOf(plan, -LEAD);
  const rest = plan.width - stretched;
  return (zoom * Math.max(1, width - rest)) / Math.max(1, stretched);
}

function spoken(stage: Stage, index: number): string {
  const event = stage.model.events[index];
  return event ? `${inMs(event.us)}, ${sentence(event)}` : "";
}
