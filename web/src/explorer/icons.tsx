/** Small pictures for buttons, as paths in a square of 24. */
const PATHS = {
  first: "M6 5v14M19 5l-10 7 10 7z",
  momentBack: "M12 5l-8 7 8 7zM21 5l-8 7 8 7z",
  back: "M16 5l-9 7 9 7z",
  play: "M7 4l13 8-13 8z",
  pause: "M7 5v14M17 5v14",
  on: "M8 5l9 7-9 7z",
  momentOn: "M12 5l8 7-8 7zM3 5l8 7-8 7z",
  last: "M18 5v14M5 5l10 7-10 7z",
  more: "M5 12h.01M12 12h.01M19 12h.01",
} as const;

export type IconName = keyof typeof PATHS;

/** A picture; the button that it stands on has the words. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
