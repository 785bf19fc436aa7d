const NOTHING = "–";

/** A span for people: `291 ms`, `1.2 s`, `3 min`. */
export function span(ms: number | null | undefined): string {
  if (ms == null) return NOTHING;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min`;
  return `${Math.floor(ms / 3_600_000)} h ${Math.floor((ms % 3_600_000) / 60_000)} min`;
}

/** With its sign: `+42`, `−3`, `0`. */
function signed(number: number, digits = 0): string {
  const text = Math.abs(number).toFixed(digits);
  return Number(text) === 0 ? text : `${number < 0 ? "−" : "+"}${text}`;
}

/** How far a clock is from the average, and how wrong that may be: `+42 ± 235 µs`. */
export function offset(us: number | null | undefined, errorUs: number | null | undefined): string {
  if (us == null) return NOTHING;
  const large = Math.max(Math.abs(us), errorUs ?? 0) >= 10_000;
  const [unit, divisor, digits] = large ? ["ms", 1_000, 1] : ["µs", 1, 0];
  const error = errorUs ? ` ± ${(errorUs / divisor).toFixed(digits)}` : "";
  return `${signed(us / divisor, digits)}${error} ${unit}`;
}

/** How much a clock gains: `+1.5 ppm`. */
export const rate = (ppm: number | null | undefined): string => (ppm == null ? NOTHING : `${signed(ppm, 1)} ppm`);

const two = (number: number) => String(number).padStart(2, "0");

/** The time of day of a moment, as the viewer's clock would show it; the text itself if it is none. */
export function clock(at: string): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return at;
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** A rate of messages: `12/s`, `0.4/s`. */
export function perSecond(value: number): string {
  return `${value >= 9.95 ? Math.round(value) : value.toFixed(1)}/s`;
}

/** A moment that may be long ago: the time of day, and on other days the day. */
export function moment(at: string, now = new Date()): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime()) || date.toDateString() === now.toDateString()) return clock(at);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${clock(at).slice(0, 5)}`;
}

/** `1 lock`, `1,234 locks` */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}
