import { useRef } from "preact/hooks";
import { first, textsOfDeadlock, type Filter } from "./find";
import type { Deadlock } from "./types";
import { Client, More, When } from "./words";

/** Deadlocks that were found lately: who waited for whom, and whose request was aborted. */
export function Deadlocks({ deadlocks, filter }: { deadlocks: readonly Deadlock[]; filter: Filter }) {
  const some = first(deadlocks, (deadlock) => filter(() => textsOfDeadlock(deadlock)));
  // What was there at first is no news.
  const [latest] = deadlocks;
  const known = useRef(latest && keyOf(latest));
  const isNews = latest !== undefined && keyOf(latest) !== known.current;
  return (
    <section class="panel deadlocks" aria-labelledby="deadlocks">
      <h3 id="deadlocks">Deadlocks</h3>
      {deadlocks.length === 0 && <p>None has been found. If clients ever wait for each other in a cycle, it stands here.</p>}
      {deadlocks.length > 0 && some.shown.length === 0 && <p>No deadlock fits the filter.</p>}
      <p class="visually-hidden" role="status">{isNews && `A deadlock was found: ${latest.text}.`}</p>
      <ol class="list" tabIndex={some.shown.length > 0 ? 0 : undefined} aria-labelledby="deadlocks">
        {some.shown.map((deadlock) => (
          <li key={keyOf(deadlock)}>
            <p class="what"><strong>{outcome(deadlock)}</strong> <When at={deadlock.at} /></p>
            <p class="soft">{deadlock.text}.</p>
          </li>
        ))}
      </ol>
      <More some={some} of="deadlock" />
    </section>
  );
}

const keyOf = ({ at, text }: Deadlock): string => `${at} ${text}`;

function outcome({ aborted, cycle }: Deadlock) {
  if (aborted == null) return "No request was aborted: the deadlock was only reported.";
  const client = cycle.find(({ session }) => session === aborted)?.client ?? "";
  return <>The request of <Client session={aborted} client={client} /> was aborted.</>;
}
