import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { Guard } from "./guard";
import { lazy } from "./lazy";
import { EXPLORE, go, place, type Room } from "./place";
import { theme, nextTheme } from "./theme";
import { EMBEDDED } from "./where";

// The code of a room is loaded when the viewer enters it.
// A page without a server has no cluster to show.
const Dashboard = __BELLWETHER_SITE__ ? null : lazy(() => import("./dashboard/dashboard").then((room) => room.Dashboard));
const Explorer = lazy(() => import("./explorer/explorer").then((room) => room.Explorer));
const Gallery = lazy(() => import("./gallery/gallery").then((room) => room.Gallery));
const Lesson = lazy(() => import("./lessons/lesson").then((room) => room.Lesson));

/** The page: a bar with the rooms, and the room that is shown. */
export function App() {
  const { room } = place.value;
  useEffect(() => {
    document.title = room === "dashboard" ? "Bellwether: cluster" : "Bellwether: explorer";
  }, [room]);
  if (EMBEDDED) return <main id="main" class="embedded"><Guard key={room} level="page">{roomOf(room)}</Guard></main>;
  return (
    <>
      <a class="skip" href="#main" onClick={toContent}>Skip to content</a>
      <header class="bar">
        <a class="brand" href={EXPLORE} onClick={go(EXPLORE)}>Bellwether</a>
        <nav aria-label="Rooms">
          <RoomLink to={EXPLORE} is={room !== "dashboard"}>Explorer</RoomLink>
          {Dashboard && <RoomLink to="/" is={room === "dashboard"}>Dashboard</RoomLink>}
        </nav>
        <button type="button" class="quiet" onClick={nextTheme} title="Theme: light, dark or the system’s">
          {theme.value === "system" ? "Auto" : theme.value === "dark" ? "Dark" : "Light"}
        </button>
      </header>
      <main id="main" tabIndex={-1}>
        <Guard key={room} level="page">{roomOf(room)}</Guard>
      </main>
    </>
  );
}

function roomOf(room: Room) {
  switch (room) {
    case "dashboard":
      return Dashboard && <Dashboard />;
    case "gallery":
      return <Gallery />;
    case "lesson":
      return <Lesson />;
    case "run":
      return <Explorer />;
  }
}

/** The part after `#` says what is shown, so the link must not be followed. */
function toContent(event: MouseEvent) {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function RoomLink(props: { to: string; is: boolean; children: ComponentChildren }) {
  return (
    <a href={props.to} onClick={go(props.to)} aria-current={props.is ? "page" : undefined}>
      {props.children}
    </a>
  );
}
