import { CROWN } from "./coordinator";
import { condition } from "./members";
import type { Room } from "./room";
import { HEIGHT, positions, RADIUS, Sparks, WIDTH } from "./sparks";

/** The members as a picture: the coordinator crowned, messages as short flashes. */
export function Topology({ room }: { room: Room }) {
  const { glance } = room.feed.value;
  if (!glance) return null;
  const { members, status } = glance;
  const up = room.up.value;
  const points = positions(members.map(({ id }) => id));
  const leader = status.mandate?.leader;
  const radius = members.length > 14 ? 12 : RADIUS;
  const sideOf = (id: number) => up?.partition.findIndex((side) => side.includes(id)) ?? -1;
  const lines = members.flatMap((one, place) => members.slice(place + 1).map((other) => ({ one, other })));
  const words = members.map((member) => `member ${member.id} ${condition(member, up).word}${member.id === leader ? ", coordinates" : ""}`);
  return (
    <section class="panel flock" aria-labelledby="topology">
      <h2 id="topology">Who talks to whom</h2>
      <div class="stage">
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={words.join("; ")}>
          {members.length <= 16 && lines.map(({ one, other }) => {
            const [from, to] = [points.get(one.id), points.get(other.id)];
            if (!from || !to) return null;
            const isCut = sideOf(one.id) !== sideOf(other.id);
            return <line key={`${one.id}-${other.id}`} class={isCut ? "cut" : undefined} x1={from.x} y1={from.y} x2={to.x} y2={to.y} />;
          })}
          {members.map((member) => {
            const { x, y } = points.get(member.id) ?? { x: 0, y: 0 };
            const { tone, sign, word } = condition(member, up);
            return (
              <g key={member.id} class={`member ${tone}`} transform={`translate(${x} ${y})`}>
                <circle r={radius} />
                <text dy="0.35em">{member.id}</text>
                {member.id === leader && <path class="crown" d={CROWN} transform={`translate(0 ${-radius - 8})`} />}
                {tone !== "good" && radius === RADIUS && <text class="word" dy={radius + 15}>{sign} {word}</text>}
              </g>
            );
          })}
        </svg>
        <Sparks flashes={room.flashes} points={points} />
      </div>
      <ul class="legend" aria-hidden="true">
        <li class="beat">● heartbeat</li>
        <li class="word">⬤ other message</li>
        {up && <li class="lost">× cut off</li>}
      </ul>
    </section>
  );
}
