import { withOperator } from "../operator";
import type { Room } from "./room";

/** Which member speaks here, that the page moved, and what else the viewer should know. */
export function Connection({ room }: { room: Room }) {
  const { glance, phase, origin, moved, troubles } = room.feed.value;
  if (!glance) return null;
  const { status, members } = glance;
  const foreign = status.version === __BELLWETHER_VERSION__ ? null : status.version;
  return (
    <div class="connection">
      <p class={`talking ${phase}`}>
        <span class="light" aria-hidden="true" />
        {phase === "live" && <>Live from member {status.id} ({status.stance}) at <span class="mono">{origin?.replace("http://", "")}</span>.</>}
        {phase === "searching" && <>Member {status.id} is gone; looking for another one…</>}
        {phase === "lost" && <>No member answers. What is shown is old; they are tried again every second.</>}
        {moved && phase === "live" && <> {moved}</>}
      </p>
      <label class="viewpoint">
        Seen by
        <select value={status.id} onChange={(event) => room.choose(Number(event.currentTarget.value))}>
          {members.filter(({ http }) => http).map(({ id }) => <option key={id} value={id}>member {id}</option>)}
        </select>
      </label>
      <ul class="warnings">
        {foreign && (
          <li>
            Member {status.id} runs version {foreign}, this page is of version {__BELLWETHER_VERSION__}. What the
            page does not know is left out.
          </li>
        )}
        {[...troubles, ...room.troubles.value].map(([who, what]) => (
          <li key={who}>{who} says something that this page does not understand: {what}.</li>
        ))}
        {status.warnings.map((warning) => <li key={warning}>Member {status.id}: {warning}</li>)}
        {room.host.value === "member" && status.up && (
          <li class="hint">
            This cluster was started by <code>bellwether up</code>:{" "}
            <a href={withOperator(`http://${status.up}/`)}>its own page</a> can kill, pause and partition members.
          </li>
        )}
      </ul>
    </div>
  );
}
