import { count, span } from "../format";
import { first, textsOfSession, type Filter } from "./find";
import { useKeepsFocus } from "./hooks";
import type { Session } from "./types";
import { More, When } from "./words";

/** The most names of locks and roles that are shown for a session. */
const NAMES_MAX = 6;

/** Sessions: the clients, and what each of them has and wants. */
export function Sessions({ sessions, filter }: { sessions: readonly Session[]; filter: Filter }) {
  const list = useKeepsFocus<HTMLDivElement>();
  const some = first(sessions, (session) => filter(() => textsOfSession(session)));
  return (
    <section class="panel sessions" aria-labelledby="sessions">
      <h3><span id="sessions">Sessions</span> <span class="soft">{sessions.length.toLocaleString("en")}</span></h3>
      {sessions.length === 0 && <p>No client has a session.</p>}
      {sessions.length > 0 && some.shown.length === 0 && <p>No session fits the filter.</p>}
      {some.shown.length > 0 && (
        <div ref={list} class="list" tabIndex={0} role="group" aria-labelledby="sessions">
          <table role="table" class="rows">
            <thead role="rowgroup">
              <tr role="row">
                {["Client", "TTL", "Since", "What it has and wants"].map((head) => <th key={head} role="columnheader" scope="col">{head}</th>)}
              </tr>
            </thead>
            <tbody role="rowgroup">
              {some.shown.map((session) => (
                <tr key={session.session} role="row">
                  <th role="rowheader" scope="row"><span class="name">{session.client}</span> <span class="notes mono">{session.session}</span></th>
                  <td role="cell" data-label="TTL">{ttl(session.ttl_ms)}</td>
                  <td role="cell" data-label="Since"><When at={session.since} /></td>
                  <td role="cell" data-label="What it has and wants"><Does session={session} /></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <More some={some} of="session" />
    </section>
  );
}

/** `10 s`, `1.5 s` */
const ttl = (ms: number): string => (ms % 1_000 === 0 && ms < 60_000 ? `${ms / 1_000} s` : span(ms));

function Does({ session }: { session: Session }) {
  const does = [
    ["leads", session.leads], ["holds", session.holds], ["waits for", session.waits_for], ["campaigns for", session.campaigns_for],
  ] as const;
  const any = does.filter(([, names]) => names.length > 0);
  if (any.length === 0) return <span class="soft">nothing</span>;
  return (
    <ul class="does">
      {any.map(([verb, names]) => (
        <li key={verb}>
          <span class="soft">{verb}</span> <span class="mono">{names.slice(0, NAMES_MAX).join(", ")}</span>
          {names.length > NAMES_MAX && <span class="soft"> and {count(names.length - NAMES_MAX, "more", "more")}</span>}
        </li>
      ))}
    </ul>
  );
}
