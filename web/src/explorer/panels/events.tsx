import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Event } from "../../run/recording";
import { inMs, sentence } from "../../run/words";
import type { Stage } from "../stage";
import { useTrailing } from "../trail";

const ROW = 30;
const HEIGHT = 330;
/** Rows that are kept above and below what is seen. */
const SPARE = 4;
/** A row that leaves at one end is used again at the other. */
const SLOTS = Math.ceil(HEIGHT / ROW) + 2 * SPARE;

/** All events as a list that goes with the moment: the diagram in words. Only what is seen is in the page. */
export function Events({ stage, hideFuture }: { stage: Stage; hideFuture: boolean }) {
  const panel = useRef<HTMLElement>(null);
  const { events, last } = stage.model;
  const box = useRef<HTMLDivElement>(null);
  const top = useSignal(0);
  const step = useTrailing(stage, panel).happened;
  useLayoutEffect(() => {
    const at = (step - 1) * ROW;
    const seen = top.peek();
    if (!box.current || (at >= seen && at <= seen + HEIGHT - 2 * ROW)) return;
    const to = Math.max(0, at - HEIGHT / 2);
    top.value = to;
    box.current.scrollTop = to;
  }, [step]);
  const shown = hideFuture ? step : events.length;
  const first = Math.max(0, Math.floor(top.value / ROW) - SPARE);
  const rows = events.slice(first, Math.min(shown, first + SLOTS));
  const onKeyDown = (event: KeyboardEvent) => {
    const way = { ArrowUp: -1, ArrowDown: 1, PageUp: -10, PageDown: 10 }[event.key];
    if (way === undefined) return;
    event.preventDefault();
    stage.by(way);
  };
  return (
    <section ref={panel} class="panel events" aria-labelledby="events-title">
      <h2 id="events-title">Events</h2>
      <div
        class="list"
        ref={box}
        role="listbox"
        tabIndex={0}
        aria-labelledby="events-title"
        aria-activedescendant={step > 0 ? `event-${step}` : undefined}
        style={{ height: `${Math.min(HEIGHT, Math.max(1, shown) * ROW + 2)}px` }}
        onScroll={(event) => (top.value = event.currentTarget.scrollTop)}
        onKeyDown={onKeyDown}
      >
        {shown === 0 && <p role="option" aria-selected="false">{last === 0 ? "This run has no events." : "Nothing has happened yet."}</p>}
        <div style={{ height: `${shown * ROW}px`, position: "relative" }} role="presentation">
          {rows.map((event, offset) => {
            const number = first + offset + 1;
            return (
              <div
                key={number % SLOTS}
                id={`event-${number}`}
                role="option"
                aria-selected={number === step}
                aria-posinset={number}
                aria-setsize={shown}
                class={number === step ? "current" : number > step ? "later" : ""}
                style={{ top: `${(number - 1) * ROW}px` }}
                onClick={() => stage.goTo(number)}
              >
                <Row event={event} />
              </div>
            );
          })}
        </div>
      </div>
    </section>
  );
}

function Row({ event }: { event: Event }) {
  return (
    <>
      <span class="time">{inMs(event.us)}</span>
      <span class="what">{sentence(event)}</span>
      <span class="rule">{event.rules?.join(" ")}</span>
      <span class="stamp">{event.event === "note" || event.event === "drop" ? "" : `L${event.lamport}`}</span>
    </>
  );
}
