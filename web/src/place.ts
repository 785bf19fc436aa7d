import { signal } from "@preact/signals";
import { EXPLORE } from "./where";

/** Where in the page one can be. */
export type Room = "dashboard" | "gallery" | "lesson" | "run";

/** Where the viewer is: the room, and what the link says about it. */
export interface Place {
  room: Room;
  /** The parameters after `#`, which say everything about a run. */
  params: URLSearchParams;
}

/** Parameters that say what the gallery shows, and nothing about a run. */
const OF_THE_GALLERY = new Set(["new", "open", "family", "algorithm", "only", "find"]);

export { EXPLORE };

/** Reads a link. `/` is the dashboard; under `/explore`, no parameters mean the gallery. */
export function readPlace(path: string, hash: string): Place {
  const params = new URLSearchParams(hash.replace(/^#/, ""));
  if (!__BELLWETHER_SITE__ && !path.startsWith(EXPLORE)) return { room: "dashboard", params };
  if (params.has("lesson")) return { room: "lesson", params };
  const gallery = [...params.keys()].every((name) => OF_THE_GALLERY.has(name));
  return { room: gallery ? "gallery" : "run", params };
}

const here = () => readPlace(location.pathname, location.hash);

/** Where the viewer is now. */
export const place = signal<Place>(here());
/** The link as the page knows it. The browser tells of a new one a little later than it has it. */
const link = () => location.pathname + location.hash;
let known = link();

function arrive() {
  known = link();
  place.value = here();
}

/** Goes somewhere else in the page; the browser's back button leads back. */
export function navigate(to: string) {
  history.pushState(null, "", to);
  arrive();
  window.scrollTo(0, 0);
}

/** Goes somewhere else in the page in place of where one is: the browser's back button does not lead back here. */
export function replace(to: string) {
  history.replaceState(null, "", to);
  arrive();
}

/** Follows a link within the page; with a modifier key it is the browser's. */
export function go(to: string) {
  return (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    navigate(to);
  };
}

/** Changes what the link says without a new entry in the browser's history, unless the viewer has just followed another. */
export function rewrite(params: URLSearchParams) {
  if (link() !== known) return;
  history.replaceState(null, "", `${location.pathname}${location.search}#${params}`);
  known = link();
}

// The browser tells of a new link twice, and a run would be played twice.
for (const told of ["popstate", "hashchange"]) window.addEventListener(told, () => link() !== known && arrive());
