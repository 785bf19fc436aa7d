import { useSignal } from "@preact/signals";
import { useCallback, useEffect, useRef } from "preact/hooks";
import { count } from "../format";
import type { Room } from "../room";
import { Deadlocks } from "./deadlocks";
import { filterOf } from "./find";
import { useInView } from "./hooks";
import { Locks } from "./locks";
import { WaitForGraph } from "./picture";
import { Roles } from "./roles";
import { Sessions } from "./sessions";
import type { Coordination } from "./types";
import { Begin } from "./words";
import "./coordination.css";

/**
 * What the coordinator does for clients, as the member's copy shows it. It is only asked for while it is
 * in view: a browser allows six connections to one server, and the rest of the page needs two.
 */
export function CoordinationPanels({ room }: { room: Room }) {
  const whole = useRef<HTMLElement>(null);
  useInView(whole, useCallback((looks: boolean) => room.lookAtCoordination({ looks }), [room]));
  const typed = useSignal("");
  const { coordination } = room.coordination.value;
  const isEmpty = coordination !== null && [coordination.sessions, coordination.roles, coordination.locks, coordination.deadlocks].every((list) => list.length === 0);
  const filter = filterOf(typed.value);
  // Who looks for something finds it, if the member can tell of it at all.
  const [seeks, lacks] = [typed.value.trim() !== "", (coordination?.left_out ?? 0) > 0];
  useEffect(() => {
    if (!seeks || lacks) room.lookAtCoordination({ atMore: seeks });
  }, [room, seeks, lacks]);
  return (
    <section ref={whole} class="coordination" aria-labelledby="coordination">
      <header>
        <h2 id="coordination">At work for clients</h2>
        <p class="soft summary">{summary(room)}</p>
        {coordination && !isEmpty && (
          <label class="filter">
            Filter
            <input type="search" placeholder="lock, role, client or session" value={typed.value}
              onInput={(event) => (typed.value = event.currentTarget.value)} />
          </label>
        )}
      </header>
      {isEmpty && <HowToBegin />}
      {coordination && !isEmpty && (
        <>
          <Roles roles={coordination.roles} filter={filter} />
          <Sessions sessions={coordination.sessions} filter={filter} />
          <Locks room={room} locks={coordination.locks} filter={filter} />
          <WaitForGraph coordination={coordination} filter={filter} />
          <Deadlocks deadlocks={coordination.deadlocks} filter={filter} />
        </>
      )}
    </section>
  );
}

function summary(room: Room): string {
  const { phase, coordination, trouble } = room.coordination.value;
  const status = room.feed.value.glance?.status;
  if (phase === "without") {
    return `Member ${status?.id ?? "?"} runs version ${status?.version ?? "?"}, which has no sessions, roles or locks. Choose another member above, or bring it up to date.`;
  }
  if (trouble !== null) return `This page does not understand what the member says of its coordination state: ${trouble}.`;
  if (coordination === null) return phase === "lost" ? "The member does not show its coordination state; it is asked again every second." : "One moment…";
  const old = phase === "lost" ? " It does not answer at the moment; this is old." : "";
  return `${figures(coordination)}, as the copy of member ${coordination.id} has it.${old}`;
}

function figures({ sessions, roles, locks, waits, left_out: leftOut }: Coordination): string {
  const waiting = new Set(waits.map(({ from }) => from)).size;
  const parts = [count(sessions.length, "session"), count(roles.length, "role"), count(locks.length, "lock"), `${waiting.toLocaleString("en")} waiting`];
  return parts.join(", ") + (leftOut ? `, and ${count(leftOut, "more", "more")} that it leaves out` : "");
}

function HowToBegin() {
  return (
    <section class="panel first" aria-label="How to begin">
      <p>No client has asked for anything yet. Two ways to begin, in as many terminals or on as many hosts as you like:</p>
      <Begin command="bellwether lock backup -- ./backup">A command that runs only while it holds a lock:</Begin>
      <Begin command="bellwether campaign cron -- ./job">A command that runs only while it is elected for a role:</Begin>
    </section>
  );
}
