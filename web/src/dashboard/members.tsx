import { Act } from "./act";
import { offset, rate, span } from "./format";
import type { Room } from "./room";
import type { Member, Up } from "./wire";

/** How a member is, as a sign and a word; never by colour alone. */
export interface Condition {
  sign: string;
  word: string;
  tone: "good" | "bad" | "odd";
}

/** What is known of a member: what was done to its process says more than its silence. */
export function condition(member: Member, up: Up | null): Condition {
  const process = up?.members.find(({ id }) => id === member.id)?.process;
  if (process === "dead") return { sign: "✕", word: "killed", tone: "bad" };
  if (process === "paused") return { sign: "❚❚", word: "paused", tone: "odd" };
  switch (member.health) {
    case "alive":
      return { sign: "●", word: "alive", tone: "good" };
    case "silent":
      return { sign: "○", word: "silent", tone: "bad" };
    default:
      return { sign: "?", word: member.health, tone: "odd" };
  }
}

/** All members, and in `up` what can be done to each. */
export function Members({ room }: { room: Room }) {
  const { glance } = room.feed.value;
  if (!glance) return null;
  const up = room.up.value;
  const heads = ["Member", "Health", "Last heard", "Clock offset", "Clock rate", "Connection", "Log"];
  return (
    <section class="panel members" aria-labelledby="members">
      <h2 id="members">Members</h2>
      <table role="table">
        <thead role="rowgroup">
          <tr role="row">
            {heads.map((head) => <th key={head} role="columnheader" scope="col">{head}</th>)}
            {up && <th role="columnheader" scope="col">Break it</th>}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {glance.members.map((member) => (
            <Row key={member.id} room={room} member={member} up={up}
              leads={glance.status.mandate?.leader === member.id} speaks={glance.status.id === member.id} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** How much of the replicated log a member has, as far as the coordinator knows. */
export function log(member: Member): string {
  if (member.behind == null) return "–";
  return member.behind === 0 ? "complete" : `lacks ${member.behind}`;
}

function Row(props: { room: Room; member: Member; up: Up | null; leads: boolean; speaks: boolean }) {
  const { room, member, up, leads, speaks } = props;
  const { sign, word, tone } = condition(member, up);
  const votes = (member.suffrage ?? "voter") === "voter";
  const notes = [leads && "coordinates", !votes && `${member.suffrage}, does not vote`, member.witness && "witness, never leads", speaks && "speaks here"];
  return (
    <tr role="row" class={leads ? "leads" : undefined}>
      <th role="rowheader" scope="row">
        <span class="id">{member.id}</span>
        <span class="notes">{notes.filter(Boolean).join(", ")}</span>
      </th>
      <td role="cell" data-label="Health"><span class={`sign ${tone}`} aria-hidden="true">{sign}</span> {word}</td>
      <td role="cell" data-label="Last heard">{speaks ? "itself" : span(member.heartbeat_age_ms)}</td>
      <td role="cell" data-label="Clock offset">{offset(member.clock_offset_us, member.clock_error_us)}</td>
      <td role="cell" data-label="Clock rate">
        {rate(member.clock_rate_ppm)}{member.clock_drifts && <strong class="bad"> drifts, may not lead</strong>}
      </td>
      <td role="cell" data-label="Connection" title={member.trouble ?? undefined}>
        {speaks ? "–" : member.connected ? "stands" : member.trouble ? `none: ${member.trouble}` : "none"}
      </td>
      <td role="cell" data-label="Log">{log(member)}</td>
      {up && <td role="cell" class="acts"><Act room={room} up={up} id={member.id} /></td>}
    </tr>
  );
}
