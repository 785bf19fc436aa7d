import { useEffect, useRef } from "preact/hooks";
import { CROWN } from "./coordinator";
import type { Flashes } from "./flashes";
import { condition } from "./members";
import type { Room } from "./room";

const WIDTH = 420;
const HEIGHT = 300;
const RADIUS = 22;

interface Point {
  x: number;
  y: number;
}

/** On a circle, the first at the top. */
export function positions(ids: readonly number[]): Map<number, Point> {
  return new Map(ids.map((id, place) => {
    const angle = (2 * Math.PI * place) / ids.length - Math.PI / 2;
    return [id, { x: WIDTH / 2 + 160 * Math.cos(angle), y: HEIGHT / 2 + 12 + 105 * Math.sin(angle) }];
  }));
}

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
    <section class="panel topology" aria-labelledby="topology">
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
              <g key={member.id} class={`node ${tone}`} transform={`translate(${x} ${y})`}>
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

/** The flashes, on a canvas above the picture: there are too many and they are too short for elements. */
function Sparks({ flashes, points }: { flashes: Flashes; points: Map<number, Point> }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const where = useRef(points);
  where.current = points;
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    let frame = requestAnimationFrame(draw);
    function draw() {
      if (context) paint(context, flashes, where.current);
      frame = requestAnimationFrame(draw);
    }
    return () => cancelAnimationFrame(frame);
  }, [flashes]);
  return <canvas ref={canvas} width={WIDTH * 2} height={HEIGHT * 2} aria-hidden="true" />;
}

function paint(context: CanvasRenderingContext2D, flashes: Flashes, points: Map<number, Point>) {
  const style = getComputedStyle(context.canvas);
  // A canvas knows no variables; the colours are those of the sheet's properties that take one.
  const [beat, word, lost] = [style.color, style.caretColor, style.outlineColor];
  context.setTransform(2, 0, 0, 2, 0, 0);
  context.clearRect(0, 0, WIDTH, HEIGHT);
  context.font = `600 11px ${style.fontFamily}`;
  context.textAlign = "center";
  for (const { flash, done } of flashes.flying(performance.now())) {
    const [from, to] = [points.get(flash.from), points.get(flash.to)];
    if (!from || !to) continue;
    // From the rim of one circle to the rim of the other; a cut message gets no further than the middle.
    const rim = RADIUS / Math.hypot(to.x - from.x, to.y - from.y);
    const way = rim + (1 - 2 * rim) * Math.min(done, flash.cut ? 0.5 : 1);
    const x = from.x + (to.x - from.x) * way;
    const y = from.y + (to.y - from.y) * way;
    context.globalAlpha = flash.overhead ? 0.55 : 1;
    context.fillStyle = flash.cut ? lost : flash.overhead ? beat : word;
    if (flash.cut && done > 0.5) {
      context.fillText("×", x, y + 4);
      continue;
    }
    context.beginPath();
    context.arc(x, y, flash.overhead ? 2.5 : 5, 0, 2 * Math.PI);
    context.fill();
    if (!flash.overhead) context.fillText(flash.kind, x, y - 8);
  }
  context.globalAlpha = 1;
}
