import { useMemo } from "preact/hooks";
import { sketch } from "./sketch";

const WIDTH = 240;
const MARGIN = 6;
const KINDS = 5; // colours there are

/** A small picture of a scenario's run, for looks only: what it shows is said beside it. */
export function Thumbnail(props: { scenario: string; height?: number; names?: boolean }) {
  const drawing = useMemo(() => sketch(props.scenario), [props.scenario]);
  if (!drawing) return null;
  const height = props.height ?? 96;
  const left = props.names ? 22 : MARGIN;
  const x = (part: number) => left + part * (WIDTH - left - MARGIN);
  const gap = (height - 2 * MARGIN) / drawing.members.length;
  const y = (row: number) => MARGIN + gap * (row + 0.5);
  return (
    <svg class="thumbnail" viewBox={`0 0 ${WIDTH} ${height}`} aria-hidden="true" focusable="false">
      {drawing.members.map((id, row) => (
        <>
          {props.names && (
            <text x={2} y={y(row) + 3}>
              P{id}
            </text>
          )}
          <line class="life" x1={x(0)} x2={x(1)} y1={y(row)} y2={y(row)} />
        </>
      ))}
      {drawing.down.map((s) => (
        <line class="down" x1={x(s.x1)} x2={x(s.x2)} y1={y(s.row)} y2={y(s.row)} />
      ))}
      {drawing.crowned.map((s) => (
        <line class="crowned" x1={x(s.x1)} x2={x(s.x2)} y1={y(s.row)} y2={y(s.row)} />
      ))}
      {drawing.inside.map((s) => (
        <line class="inside" x1={x(s.x1)} x2={x(s.x2)} y1={y(s.row)} y2={y(s.row)} />
      ))}
      {drawing.arrows.map((a) => {
        const part = a.arrives ? 1 : 0.55;
        const x2 = x(a.x1) + (x(a.x2) - x(a.x1)) * part;
        const y2 = y(a.from) + (y(a.to) - y(a.from)) * part;
        return (
          <>
            <line class={`arrow kind-${a.kind % KINDS}`} x1={x(a.x1)} y1={y(a.from)} x2={x2} y2={y2} />
            {a.arrives ? (
              <circle class={`head kind-${a.kind % KINDS}`} cx={x2} cy={y2} r={1.8} />
            ) : (
              <path class="undone" d={cross(x2, y2, 2.5)} />
            )}
          </>
        );
      })}
      {drawing.crashes.map((c) => (
        <path class="crash" d={cross(x(c.x), y(c.row), 3.5)} />
      ))}
    </svg>
  );
}

const cross = (x: number, y: number, r: number) =>
  `M${x - r} ${y - r}L${x + r} ${y + r}M${x - r} ${y + r}L${x + r} ${y - r}`;
