import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { withOperator } from "../../operator";
import { count } from "../format";
import type { Room } from "../room";
import { first, textsOfLock, type Filter } from "./find";
import { useKeepsFocus } from "./hooks";
import { ForceRelease, type Taking } from "./force";
import type { Holder, Lock, Waiter } from "./types";
import { Begin, Client, clientWords, kindOf, modeWords, More, When } from "./words";

/** How much of a queue is shown at once, and how much on demand. */
const QUEUE_SHOWN = 3;
const QUEUE_MAX = 100;
const HOLDERS_MAX = 20;

/** Locks: who holds them, by which token, and who waits at which place. */
export function Locks({ room, locks, filter }: { room: Room; locks: readonly Lock[]; filter: Filter }) {
  const list = useKeepsFocus<HTMLDivElement>();
  const taking = useSignal<Taking | null>(null);
  const pressed = useRef<HTMLElement | null>(null);
  const take = (lock: string) => (holder: Holder, button: HTMLElement) => {
    pressed.current = button;
    taking.value = { lock, holder };
  };
  const done = useSignal("");
  const contended = useSignal(false);
  const some = first(locks, (lock) => (!contended.value || lock.queue.length > 0) && filter(() => textsOfLock(lock)));
  return (
    <section class="panel locks" aria-labelledby="locks">
      <div class="head">
        <h3 id="locks">Locks</h3>
        {locks.length > 0 && (
          <label class="check">
            <input type="checkbox" checked={contended.value} onChange={() => (contended.value = !contended.value)} /> Only contended locks
          </label>
        )}
      </div>
      <p role="status" class="done">{done}</p>
      {locks.length === 0 && (
        <Begin command="bellwether lock backup -- ./backup">
          No lock is held. This runs a command while it holds a lock:
        </Begin>
      )}
      {locks.length > 0 && some.shown.length === 0 && <p>No lock fits the filter.</p>}
      {some.shown.length > 0 && (
        <div ref={list} class="list" tabIndex={0} role="group" aria-labelledby="locks">
          <table role="table" class="rows">
            <thead role="rowgroup">
              <tr role="row">
                {["Lock", "Held by", "Waiting"].map((head) => <th key={head} role="columnheader" scope="col">{head}</th>)}
              </tr>
            </thead>
            <tbody role="rowgroup">
              {some.shown.map((lock) => (
                <Row key={lock.name} lock={lock} take={room.mayCommand ? take(lock.name) : null} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <More some={some} of="lock" />
      {!room.mayCommand && locks.length > 0 && (
        <p class="soft">You can force-release a lock on the <a href={withOperator(`${room.feed.value.origin}/`)}>page of a member</a>.</p>
      )}
      {taking.value && (
        <ForceRelease room={room} taking={taking.value} lock={locks.find(({ name }) => name === taking.value?.lock)}
          ended={(text) => {
            done.value = text;
            taking.value = null;
            // The button that was pressed may be gone with its holder.
            (pressed.current?.isConnected ? pressed.current : list.current)?.focus({ preventScroll: true });
          }} />
      )}
    </section>
  );
}

function Row({ lock, take }: { lock: Lock; take: ((holder: Holder, button: HTMLElement) => void) | null }) {
  const { shown, more } = first(lock.holders, undefined, HOLDERS_MAX);
  return (
    <tr role="row">
      <th role="rowheader" scope="row"><span class="name mono">{lock.name}</span> <span class="notes">{kindOf(lock)}</span></th>
      <td role="cell" data-label="Held by">
        {shown.length === 0 && <span class="soft">none</span>}
        <ul class="holders">
          {shown.map((holder) => (
            <li key={holder.session}>
              <span class="says">
                <Client {...holder} />
                <span class="soft fact">
                  {lock.permits != null && `${modeWords(holder)}, `}token <span class="mono">{holder.token}</span>
                </span>
                <span class="soft fact">asked <When at={holder.since} /></span>
              </span>
              {take && (
                <button type="button" onClick={(event) => take(holder, event.currentTarget)} aria-label={`Force-release ${lock.name} from ${clientWords(holder.client, holder.session)}`}>
                  Force-release
                </button>
              )}
            </li>
          ))}
          {more > 0 && <li class="soft">and {count(more, "more", "more")}</li>}
        </ul>
      </td>
      <td role="cell" data-label="Waiting"><Queue lock={lock} /></td>
    </tr>
  );
}

function Queue({ lock: { name, queue } }: { lock: Lock }) {
  if (queue.length === 0) return <span class="soft">none</span>;
  const rest = queue.slice(QUEUE_SHOWN, QUEUE_MAX);
  const beyond = queue.length - QUEUE_MAX;
  return (
    <>
      <ol class="queue">{queue.slice(0, QUEUE_SHOWN).map((one) => <Place key={one.session} waiter={one} />)}</ol>
      {rest.length > 0 && (
        <details>
          <summary>{count(queue.length - QUEUE_SHOWN, "more", "more")}<span class="visually-hidden"> in the queue of {name}</span></summary>
          <ol class="queue">{rest.map((one) => <Place key={one.session} waiter={one} />)}</ol>
          {beyond > 0 && <p class="soft">and {count(beyond, "more", "more")}</p>}
        </details>
      )}
    </>
  );
}

function Place({ waiter }: { waiter: Waiter }) {
  const mode = modeWords(waiter);
  return (
    <li>
      <span class="place">{waiter.behind + 1}.</span> <Client {...waiter} />
      <span class="soft">{mode && ` ${mode},`} since <When at={waiter.since} /></span>
    </li>
  );
}
