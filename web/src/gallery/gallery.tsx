import { useEffect } from "preact/hooks";
import { signal } from "@preact/signals";
import { fetchCatalogue, fetchGallery, type Schemas } from "../api/client";
import { lazy } from "../lazy";
import { LESSONS } from "../lessons/list";
import { DONE, keptProgress } from "../lessons/progress";
import { EXPLORE, go, place } from "../place";
import { useDrops } from "./drops";
import { Exhibits } from "./exhibits";
import { Problem } from "./problem";
import { Thumbnail } from "./thumbnail";
import "./gallery.css";

/** The sources' first example, where to begin. */
const FIRST = "bully-p1-to-p4";

const NewRun = lazy(() => import("./new-run").then((part) => part.NewRun));
const Open = lazy(() => import("./open").then((part) => part.Open));

/** What the server has to show; kept for when the viewer comes back from a run. */
const gallery = signal<Schemas["Gallery"] | null>(null);
const catalogue = signal<Schemas["Catalogue"] | null>(null);
const trouble = signal<unknown>(null);

function fetchAll() {
  trouble.value = null;
  const failed = (error: unknown) => (trouble.value = error);
  if (!gallery.value) fetchGallery().then((found) => (gallery.value = found), failed);
  if (!catalogue.value) fetchCatalogue().then((found) => (catalogue.value = found), failed);
}

/** The room that viewers enter first. */
export function Gallery() {
  const { params } = place.value;
  if (params.has("new")) return <NewRun />;
  if (params.has("open")) return <Open />;
  return <Front />;
}

function Front() {
  useEffect(fetchAll, []);
  useDrops((file) => void import("./open").then(({ openDropped }) => openDropped(file)));
  return (
    <div class="gallery">
      <Welcome />
      <Lessons />
      <section aria-labelledby="exhibits">
        <h2 id="exhibits">Gallery</h2>
        {trouble.value ? <Problem error={trouble.value} retry={fetchAll} /> : null}
        {gallery.value ? (
          <Exhibits exhibits={gallery.value.exhibits} catalogue={catalogue.value} />
        ) : (
          !trouble.value && <p role="status">Loading the gallery…</p>
        )}
      </section>
    </div>
  );
}

function Welcome() {
  const first = gallery.value?.exhibits.find((exhibit) => exhibit.id === FIRST);
  const run = `${EXPLORE}#exhibit=${FIRST}`;
  return (
    <>
      <section class="welcome" aria-labelledby="welcome">
        <h1 id="welcome">See how processes agree</h1>
        <p class="lead">
          Bellwether plays the textbooks’ distributed algorithms message by message: step through a run, break it where
          you like, and share the result as a link.
        </p>
      </section>
      <section class="begin" aria-labelledby="begin">
        <div class="begin-text">
          <p class="overline">Begin here</p>
          <h2 id="begin">Two of four die, and P3 takes over. Why P3?</h2>
          <p>
            P4 is the coordinator. P4 and P1 fail, and P2 notices. Watch which process asks, which one answers and which
            one hears nothing: that is the whole bully election.
          </p>
          <ol class="steps">
            <li>
              <b>Step</b> through it with the arrow keys, and read beside it which rule each step follows.
            </li>
            <li>
              <b>Break it</b>: at 10 ms, where P3 has just answered, click P2 and cut it off from all others. A
              branch starts there, and the original stays.
            </li>
            <li>
              <b>Share it</b>: the address of the page contains the run and your branches.
            </li>
          </ol>
          <p class="actions">
            <a class="button primary" href={run} onClick={go(run)}>
              Watch the example
            </a>
            <a class="button" href={`${EXPLORE}#lesson=bully`} onClick={go(`${EXPLORE}#lesson=bully`)}>
              Take the lesson
            </a>
          </p>
        </div>
        <div class="begin-picture">{first && <Thumbnail scenario={first.scenario} height={130} names />}</div>
      </section>
      <p class="actions">
        <a class="button" href={`${EXPLORE}#new`} onClick={go(`${EXPLORE}#new`)}>
          Make a run of your own
        </a>
        <a class="button" href={`${EXPLORE}#open`} onClick={go(`${EXPLORE}#open`)}>
          Open a scenario or a trace
        </a>
      </p>
    </>
  );
}

function Lessons() {
  const kept = keptProgress();
  return (
    <section aria-labelledby="lessons">
      <h2 id="lessons">Lessons</h2>
      <p class="soft">Each lesson plays a run, stops at the important moments and asks you what happens next.</p>
      <ul class="cards lessons">
        {LESSONS.map((lesson) => (
          <li key={lesson.name} class="card">
            <h3>
              <a href={`${EXPLORE}#lesson=${lesson.name}`} onClick={go(`${EXPLORE}#lesson=${lesson.name}`)}>
                {lesson.title}
              </a>
            </h3>
            <p>{lesson.about}</p>
            {kept[lesson.name] !== undefined && <p class="soft">{kept[lesson.name]! >= DONE ? "✓ Done" : `You were at stop ${kept[lesson.name]}`}</p>}
          </li>
        ))}
      </ul>
    </section>
  );
}
