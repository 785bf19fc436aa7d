import { clock } from "./format";
import type { Room } from "./room";
import type { Change } from "./wire";

/** The changes of the coordinator, the latest first, with their reasons. */
export function History({ room }: { room: Room }) {
  const changes = [...room.changes.value].reverse();
  return (
    <section class="panel history" aria-labelledby="history">
      <h2 id="history">Elections</h2>
      {changes.length === 0 && <p>No change of the coordinator has been seen yet.</p>}
      <ol tabIndex={0} aria-labelledby="history">
        {changes.map((change) => (
          <li key={`${change.term ?? change.at} ${change.to}`}>
            <span class="what"><strong>{outcome(change)}</strong> <time dateTime={change.at}>{clock(change.at)}</time></span>
            <span class="reason">{change.reason}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function outcome({ from, to, term }: Change): string {
  if (to == null) return `Mandate ${term ?? ""} of member ${from ?? "?"} ended`;
  const before = from == null ? "" : from === to ? " again" : ` after member ${from}`;
  return `Term ${term ?? "?"}: member ${to}${before}`;
}
