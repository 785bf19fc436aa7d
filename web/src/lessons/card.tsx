import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Schemas } from "../api/client";
import type { Stage } from "../explorer/stage";
import { EXPLORE, go } from "../place";
import type { Place } from "./find";
import { isSolved, keptProgress, nextStop, stopBefore, type Progress } from "./progress";
import { ruleText } from "./rule-text";
import type { Choice, LessonData, Stop } from "./types";

interface CardProps {
  lesson: LessonData;
  stage: Stage;
  rules: readonly Schemas["Rule"][];
  progress: Progress;
  places: readonly Place[];
  move: (to: Progress, how: "play" | "jump") => void;
}

/** What a lesson says beside its run: the question of a stop, and then the answer. */
export function Card(props: CardProps) {
  const { lesson, progress, move } = props;
  const stop = lesson.stops[progress.stop - 1];
  const place = props.places[progress.stop - 1];
  return (
    <section class="lesson-card panel" aria-label="Lesson">
      {stop && place ? (
        <AtStop key={progress.stop} {...props} stop={stop} place={place} />
      ) : progress.stop === 0 ? (
        <Intro lesson={lesson} begin={() => move(nextStop(progress), "play")} resume={(stop) => move({ stop, answer: null }, "jump")} />
      ) : (
        <End lesson={lesson} again={() => move({ stop: 0, answer: null }, "jump")} />
      )}
    </section>
  );
}

function Intro({ lesson, begin, resume }: { lesson: LessonData; begin: () => void; resume: (stop: number) => void }) {
  const kept = keptProgress()[lesson.name] ?? 0;
  return (
    <>
      <p>{lesson.intro}</p>
      <p class="soft">The run stops {lesson.stops.length} times and asks you what happens next.</p>
      <button type="button" class="primary" onClick={begin}>
        Begin
      </button>
      {kept > 1 && kept <= lesson.stops.length && (
        <button type="button" onClick={() => resume(kept)}>Continue at stop {kept}</button>
      )}
    </>
  );
}

function AtStop(props: CardProps & { stop: Stop; place: Place }) {
  const { lesson, stage, progress, move, stop, place } = props;
  const heading = useRef<HTMLHeadingElement>(null);
  const arrived = stage.step.value.number >= place.ask;
  useEffect(() => {
    // The button that led here is gone; without this the keyboard would have to start from the top.
    if (arrived) heading.current?.focus({ preventScroll: true });
  }, [arrived]);
  if (!arrived) {
    return (
      <>
        <p role="status">
          Playing to stop {progress.stop} of {lesson.stops.length}…
        </p>
        <button type="button" onClick={() => stage.goTo(place.ask)}>
          Skip to the question
        </button>
      </>
    );
  }
  const chosen = progress.answer === null ? null : (stop.choices[progress.answer] ?? null);
  const solved = isSolved(lesson, progress);
  const last = progress.stop === lesson.stops.length;
  return (
    <>
      <p class="overline">
        Stop {progress.stop} of {lesson.stops.length}
      </p>
      <p>{stop.tell}</p>
      <h2 ref={heading} tabIndex={-1}>
        {stop.ask}
      </h2>
      <Choices
        stop={stop}
        chosen={progress.answer}
        solved={solved}
        choose={(answer) => move({ stop: progress.stop, answer }, "play")}
      />
      {chosen && !solved && (
        <div class="verdict hint-first" role="status">
          <p><b>Not quite.</b> {chosen.because}</p>
          <p>Try another answer, or <button type="button" onClick={() => move({ ...progress, shown: true }, "play")}>show the solution</button></p>
        </div>
      )}
      {solved && <Verdict stop={stop} chosen={chosen} rules={props.rules} />}
      <p class="actions">
        {solved && (
          <button type="button" class="primary" onClick={() => move(nextStop(progress), "play")}>
            {last ? "Finish" : "Continue"}
          </button>
        )}
        <button type="button" onClick={() => move(stopBefore(progress), "jump")}>
          Back
        </button>
      </p>
    </>
  );
}

function Choices(props: { stop: Stop; chosen: number | null; solved: boolean; choose: (answer: number) => void }) {
  const { stop, chosen, solved, choose } = props;
  // At once: who sees the question can answer it.
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const index = Number(event.key) - 1;
      if (stop.choices[index]) choose(index);
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  });
  return (
    <ol class="choices">
      {stop.choices.map((choice, k) => (
        <li key={k}>
          <button
            type="button"
            aria-pressed={chosen === k}
            onClick={() => choose(k)}
            class={solved && choice.right ? "right" : chosen === k ? "wrong" : ""}
          >
            <kbd aria-hidden="true">{k + 1}</kbd>
            {choice.say}
            {solved && choice.right && <span class="sign"> ✓ Correct</span>}
            {chosen === k && !choice.right && <span class="sign"> ✗ Not quite</span>}
          </button>
        </li>
      ))}
    </ol>
  );
}

const isTyping = (target: EventTarget | null) =>
  target instanceof Element && target.closest("input:not([type=range]), textarea, select") !== null;

function Verdict(props: { stop: Stop; chosen: Choice | null; rules: readonly Schemas["Rule"][] }) {
  const { stop, chosen, rules } = props;
  const right = stop.choices.find((choice) => choice.right);
  return (
    <div class="verdict" role="status">
      {chosen && (
        <p>
          <b>{chosen.right ? "Correct." : "Not quite."}</b> {chosen.because}
        </p>
      )}
      {!chosen?.right && right && (
        <p>
          <b>{right.say}.</b> {right.because}
        </p>
      )}
      <p>{stop.explain}</p>
      {stop.rules.length > 0 && (
        <ul class="fired">
          {stop.rules.map((id) => (
            <li key={id}>
              <b>Rule {id}</b> {ruleText(id, rules)}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function End({ lesson, again }: { lesson: LessonData; again: () => void }) {
  return (
    <>
      <h2>What to remember</h2>
      <p>{lesson.end}</p>
      <ul>
        {lesson.further.map(({ exhibit, say }) => {
          const link = `${EXPLORE}#exhibit=${exhibit}`;
          return (
            <li key={exhibit}>
              <a href={link} onClick={go(link)}>
                {say}
              </a>
            </li>
          );
        })}
      </ul>
      <p class="actions">
        <button type="button" onClick={again}>
          Start again
        </button>
        <a class="button" href={EXPLORE} onClick={go(EXPLORE)}>
          To the gallery
        </a>
      </p>
    </>
  );
}
