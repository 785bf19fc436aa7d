import { clock } from "./format";
import { Lease } from "./lease";
import type { Room } from "./room";
import type { Status } from "./wire";

/** A crown, for the holder of the mandate. */
export const CROWN = "M-11 6 L-12 -6 L-5 -1 L0 -9 L5 -1 L12 -6 L11 6 Z";

/** The coordinator and its mandate. */
export function Coordinator({ room }: { room: Room }) {
  const { glance, at } = room.feed.value;
  if (!glance) return null;
  const { status } = glance;
  const { mandate, last_change: last } = status;
  return (
    <section class="panel coordinator" aria-labelledby="coordinator">
      <h2 id="coordinator">Coordinator</h2>
      <p class="who">
        {mandate && <svg class="crown" viewBox="-14 -12 28 20" aria-hidden="true"><path d={CROWN} /></svg>}
        {mandate ? `Member ${mandate.leader}` : "None"}
      </p>
      {!mandate && <p>{why(status)}</p>}
      <dl>
        <div><dt>Term</dt><dd>{mandate?.term ?? "–"}</dd></div>
        <div>
          <dt>Mandate</dt>
          <dd>{mandate ? `holds while ${status.needed} of ${status.configured} agree` : "none"}{mandate?.appointed && ", appointed by an operator"}</dd>
        </div>
        <div>
          <dt>Lease</dt>
          <dd>
            {mandate ? <Lease leaseMs={mandate.lease_ms} fullMs={status.lease_full_ms ?? mandate.lease_ms} at={at} /> : "–"}
          </dd>
        </div>
        {status.reachable != null && <div><dt>Agree now</dt><dd>{status.reachable} of {status.configured}</dd></div>}
        {status.log && <div><dt>Committed</dt><dd>{status.log.commit_index} of {status.log.last_index} entries</dd></div>}
        <div><dt>Election</dt><dd>{status.election}</dd></div>
      </dl>
      {last && <p class="reason">Last change at {clock(last.at)}: {last.reason}.</p>}
    </section>
  );
}

function why(status: Status): string {
  const reason = status.why_no_mandate ? `: ${status.why_no_mandate}` : "";
  return `Member ${status.id} knows of no mandate${reason}. In a partition others may see it differently.`;
}
