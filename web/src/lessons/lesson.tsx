import { useEffect, useMemo, useState } from "preact/hooks";
import { fetchCatalogue, fetchRun, type Schemas } from "../api/client";
import { Player } from "../explorer/player";
import { Stage } from "../explorer/stage";
import { Problem } from "../gallery/problem";
import { EXPLORE, go, place, rewrite } from "../place";
import { modelOf } from "../run/model";
import { Step } from "../run/step";
import { ALL } from "./all";
import { Card } from "./card";
import { placesOf, type Place } from "./find";
import { DONE, isSolved, keepProgress, readProgress, writeProgress, type Progress } from "./progress";
import type { LessonData } from "./types";
import "./lesson.css";

/** The room of the lessons. */
export function Lesson() {
  const name = place.value.params.get("lesson") ?? "";
  const lesson = ALL.find((known) => known.name === name);
  return lesson ? <Taken key={name} lesson={lesson} /> : <NoSuchLesson name={name} />;
}

function NoSuchLesson({ name }: { name: string }) {
  return (
    <section class="notice" role="alert">
      <h1>There is no lesson “{name}”</h1>
      <p>The link may be for another version, or incomplete. Choose a lesson:</p>
      <ul>
        {ALL.map((lesson) => {
          const link = `${EXPLORE}#lesson=${lesson.name}`;
          return (
            <li key={lesson.name}>
              <a href={link} onClick={go(link)}>
                {lesson.title}
              </a>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** A lesson's run with its stops. */
interface Ready {
  stage: Stage;
  places: Place[];
}

function Taken({ lesson }: { lesson: LessonData }) {
  const [ready, setReady] = useState<Ready | null>(null);
  const [rules, setRules] = useState<Schemas["Rule"][]>([]);
  const [trouble, setTrouble] = useState<unknown>(null);
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const giveUp = new AbortController();
    const failed = (error: unknown) => giveUp.signal.aborted || setTrouble(error);
    setTrouble(null);
    prepare(lesson, giveUp.signal).then(setReady, failed);
    fetchCatalogue().then(
      ({ algorithms }) => setRules(algorithms.find((algorithm) => algorithm.name === (lesson.algorithm ?? lesson.name))?.rules ?? []),
      () => setRules([]), // the lesson can do without
    );
    return () => giveUp.abort();
  }, [lesson, attempt]);
  return (
    <div class="lesson">
      {trouble ? <Problem error={trouble} retry={() => setAttempt(attempt + 1)} /> : null}
      {ready ? (
        <Course lesson={lesson} rules={rules} {...ready} />
      ) : (
        !trouble && <p role="status">Loading the lesson…</p>
      )}
    </div>
  );
}

async function prepare(lesson: LessonData, signal: AbortSignal): Promise<Ready> {
  const run = await fetchRun({ scenario: lesson.scenario }, signal);
  const places = placesOf(lesson, run.events);
  if (!places) throw new Error("This lesson does not fit this version of the program: its run has changed.");
  const stage = new Stage(modelOf(run), 0, 0);
  stage.stamps.value = lesson.stamps ?? "none";
  return { stage, places };
}

interface CourseProps extends Ready {
  lesson: LessonData;
  rules: Schemas["Rule"][];
}

function Course({ lesson, stage, places, rules }: CourseProps) {
  const { params } = place.value;
  const told = useMemo(() => readProgress(lesson, params), [lesson, params]);
  const [progress, setProgress] = useState(told);
  useEffect(() => {
    // The viewer followed a link: be there at once, without playing.
    setProgress(told);
    stage.veiled.value = isAsking(lesson, told);
    stage.limit.value = limitOf(lesson, told, places, stage);
    stage.goTo(stage.limit.value);
    return () => stage.pause();
  }, [told]);

  const move = (to: Progress, how: "play" | "jump") => {
    setProgress(to);
    keepProgress(lesson.name, to.stop > lesson.stops.length ? DONE : to.stop);
    rewrite(writeProgress(lesson, to));
    stage.veiled.value = isAsking(lesson, to);
    stage.limit.value = limitOf(lesson, to, places, stage);
    if (how === "jump" || stage.step.peek().number > stage.limit.value.number) stage.goTo(stage.limit.value);
    else stage.play();
  };
  return (
    <>
      <header class="lesson-head">
        <div>
          <p class="crumbs">
            <a href={EXPLORE} onClick={go(EXPLORE)}>Gallery</a> / Lesson
          </p>
          <h1>{lesson.title}</h1>
        </div>
        <Steps lesson={lesson} progress={progress} go={(stop) => move({ stop, answer: null }, "jump")} />
      </header>
      <div class="lesson-body">
        <Card lesson={lesson} stage={stage} rules={rules} progress={progress} places={places} move={move} />
        <Player stage={stage} panels={["state"]} hideFuture />
      </div>
    </>
  );
}

/** Whether a question waits for its answer. */
const isAsking = (lesson: LessonData, progress: Progress) => Boolean(lesson.stops[progress.stop - 1]) && !isSolved(lesson, progress);

/** How far one may look into the run. */
function limitOf(lesson: LessonData, progress: Progress, places: Place[], { model }: Stage): Step {
  const { stop } = progress;
  const at = places[stop - 1];
  if (!at) return stop === 0 ? Step.first(model) : Step.last(model);
  return Step.at(model, isSolved(lesson, progress) ? at.answer : at.ask);
}

/** The stops of a lesson, to see how far one is and to go back. */
function Steps(props: { lesson: LessonData; progress: Progress; go: (stop: number) => void }) {
  const { lesson, progress } = props;
  return (
    <nav class="lesson-steps" aria-label="Stops of the lesson">
      <ol>
        {lesson.stops.map((_, k) => (
          <li key={k}>
            <button
              type="button"
              aria-label={`Stop ${k + 1}`}
              aria-current={progress.stop === k + 1 ? "step" : undefined}
              class={k + 1 < progress.stop ? "past" : ""}
              onClick={() => props.go(k + 1)}
            >
              {k + 1}
            </button>
          </li>
        ))}
      </ol>
    </nav>
  );
}
