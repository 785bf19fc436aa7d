import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { operator } from "../../operator";
import type { Room } from "../room";
import { OperatorToken } from "../token";
import type { Holder, Lock } from "./types";
import { Client, clientWords } from "./words";

/** A lock that an operator is about to force-release, and its holder. */
export interface Taking {
  lock: string;
  holder: Holder;
}

interface Props {
  room: Room;
  taking: Taking;
  /** The lock as it is now, if it is still there. */
  lock: Lock | undefined;
  /** What came of it, in words; nothing if it was left. */
  ended: (text: string) => void;
}

/** Asks whether to force-release a lock, and says what that means. */
export function ForceRelease({ room, taking, lock, ended }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const by = useSignal("");
  const problem = useSignal("");
  const busy = useSignal(false);
  useEffect(() => dialog.current?.showModal(), []);
  const { name, session, client } = { name: taking.lock, ...taking.holder };
  const holds = lock?.holders.some((holder) => holder.session === session && holder.token === taking.holder.token);
  const next = lock?.queue[0];
  const close = (text: string) => {
    dialog.current?.close();
    ended(text);
  };
  const take = async (event: Event) => {
    event.preventDefault();
    if (busy.value) return;
    busy.value = true;
    problem.value = "";
    const failed = await room.forceRelease(name, session, by.value.trim());
    busy.value = false;
    if (failed === null) close(`${name} was force-released from ${clientWords(client, session)}.`);
    else problem.value = `Not done: ${failed}`;
  };
  return (
    <dialog ref={dialog} class="take" aria-labelledby="take" onCancel={(event) => { event.preventDefault(); close(""); }}>
      <form onSubmit={(event) => void take(event)}>
        <h3 id="take">Force-release <span class="mono">{name}</span> from <Client client={client} session={session} />?</h3>
        {!holds && <p class="bad">It does not hold this lock any more.</p>}
        <p>
          {next ? <>Next in the queue is <Client {...next} />: it is granted the lock as soon as it can have it, under a larger token.</>
            : "No session waits for it. The next request gets it, with a larger token."}
        </p>
        <p>
          <strong>The holder may not know.</strong> It is told, but if it hangs, or its network does, it goes on believing that it
          holds the lock. From then on only what checks fencing tokens keeps it out, by refusing
          its token <span class="mono">{taking.holder.token}</span>. If nothing checks them, be sure that the holder is dead or harmless.
        </p>
        <label>
          Who does this, and why (for the log)
          <input type="text" required maxLength={200} autoComplete="off" value={by.value} onInput={(event) => (by.value = event.currentTarget.value)} />
        </label>
        <OperatorToken />
        <p role="alert" class="bad">{problem}</p>
        <div class="row">
          <button type="button" onClick={() => close("")}>Leave it</button>
          <button type="submit" class="danger" disabled={!holds || busy.value || by.value.trim() === "" || operator.value === null}>Force-release it</button>
        </div>
      </form>
    </dialog>
  );
}
