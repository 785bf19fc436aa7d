import { CROWN } from "../coordinator";
import { count } from "../format";
import { first, textsOfRole, type Filter } from "./find";
import { useKeepsFocus } from "./hooks";
import type { Role } from "./types";
import { Begin, Client, inTurn, More, policyWords, When } from "./words";

/** More candidates of a role than these are only counted. */
const CANDIDATES_MAX = 50;

/** Roles: the leader, the candidates, and the history. */
export function Roles({ roles, filter }: { roles: readonly Role[]; filter: Filter }) {
  const list = useKeepsFocus<HTMLUListElement>();
  const some = first(roles, (role) => filter(() => textsOfRole(role)));
  return (
    <section class="panel roles" aria-labelledby="roles">
      <h3 id="roles">Roles</h3>
      {roles.length === 0 && (
        <Begin command="bellwether campaign cron -- ./job">
          There are no candidates. This runs a command only while it is elected, in as many places as you like:
        </Begin>
      )}
      {roles.length > 0 && some.shown.length === 0 && <p>No role fits the filter.</p>}
      <ul ref={list} class="list" tabIndex={some.shown.length > 0 ? 0 : undefined} aria-labelledby="roles">
        {some.shown.map((role) => <OneRole key={role.name} role={role} />)}
      </ul>
      <More some={some} of="role" />
    </section>
  );
}

function OneRole({ role }: { role: Role }) {
  const { leader, candidates, history } = role;
  return (
    <li>
      <p class="what"><span class="name mono">{role.name}</span> <span class="soft">{policyWords(role.policy)}</span></p>
      {leader ? (
        <p class="leader">
          <svg class="crown" viewBox="-14 -12 28 20" aria-hidden="true"><path d={CROWN} /></svg>
          <span class="visually-hidden">Led by </span>
          <Client {...leader} /> <span class="soft">token <span class="mono">{leader.token}</span></span>
          {leader.value && <span class="soft"> proclaims <span class="mono value">{leader.value}</span></span>}
          {leader.preempt_requested && <strong class="odd"> was asked to yield</strong>}
        </p>
      ) : <p class="leader soft">It has no leader.</p>}
      <details>
        <summary>
          {count(candidates.length, "candidate")}, {count(history.length, "change")}
          <span class="visually-hidden"> of {role.name}</span>
        </summary>
        <Candidates role={role} />
        <Changes role={role} />
      </details>
    </li>
  );
}

function Candidates({ role }: { role: Role }) {
  const { shown, more } = first(inTurn(role), undefined, CANDIDATES_MAX);
  if (shown.length === 0) return <p class="soft">It has no candidates now.</p>;
  return (
    <ol class="candidates">
      {shown.map((one, place) => (
        <li key={one.session}>
          <span class="place">{place + 1}.</span> <Client {...one} />
          {one.leads && <span class="soft"> leads</span>}
          {role.policy !== "first-come" && <span class="soft"> priority <span class="mono">{one.priority}</span></span>}
          <span class="soft"> since <When at={one.since} /></span>
          {one.value && !one.leads && <span class="soft"> would proclaim <span class="mono value">{one.value}</span></span>}
        </li>
      ))}
      {more > 0 && <li class="soft">and {count(more, "more", "more")}</li>}
    </ol>
  );
}

/** The last changes and their reasons. A client that is gone is known by its session only. */
function Changes({ role: { history, candidates, name } }: { role: Role }) {
  const clients = new Map(candidates.map(({ session, client }) => [session, client]));
  return (
    <ol class="changes" aria-label={`Changes of ${name}`}>
      {history.map(({ at, leader, token, reason }) => (
        <li key={`${at} ${token ?? ""} ${reason}`}>
          <When at={at} />{" "}
          {leader ? <><Client session={leader} client={clients.get(leader) ?? ""} /> leads</> : "No leader"}:{" "}
          <span class="soft">{reason}</span>
        </li>
      ))}
    </ol>
  );
}
