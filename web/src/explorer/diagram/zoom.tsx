import type { Stage } from "../stage";

/** How far one may zoom out and in. */
const ZOOM = { min: 1 / 64, max: 16, step: 1.5 };

/** Another zoom, within bounds. */
export const zoomed = (zoom: number, by: number) => Math.max(ZOOM.min, Math.min(ZOOM.max, zoom * by));

interface ZoomProps {
  stage: Stage;
  zoom: number;
  /** The zoom at which all of the diagram is seen. */
  fit: number;
  onZoom: (zoom: number) => void;
}

/** The buttons that stretch the diagram. */
export function ZoomButtons({ stage, zoom, fit, onZoom }: ZoomProps) {
  return (
    <div class="zoom" role="group" aria-label="Zoom">
      <select
        aria-label="Stamps"
        title="Logical clocks at the events"
        value={stage.stamps.value}
        onChange={({ currentTarget: { value } }) => (stage.stamps.value = value as "none" | "lamport" | "vector")}
      >
        <option value="none">no stamps</option>
        <option value="lamport">Lamport</option>
        <option value="vector">vector</option>
      </select>
      <button type="button" aria-label="Zoom out" title="Zoom out" onClick={() => onZoom(zoomed(zoom, 1 / ZOOM.step))}>−</button>
      <button type="button" aria-label="Zoom in" title="Zoom in" onClick={() => onZoom(zoomed(zoom, ZOOM.step))}>+</button>
      <button type="button" aria-label="Show all" title="Show all" onClick={() => onZoom(zoomed(fit, 1))}>All</button>
      {zoom !== 1 && <button type="button" onClick={() => onZoom(1)}>1:1</button>}
    </div>
  );
}
