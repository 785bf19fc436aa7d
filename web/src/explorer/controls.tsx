import { timeAt } from "../run/model";
import { inMs } from "../run/words";
import { SPEEDS, type Stage } from "./stage";

/** The buttons and the slider that move through a run. */
export function Controls({ stage, disabled = false }: { stage: Stage; disabled?: boolean }) {
  const step = stage.step.value;
  const { last } = stage.model;
  const limit = stage.limit.value;
  const atStart = step === 0;
  const atEnd = step >= limit;
  const playing = stage.playing.value;
  return (
    <div class="controls" role="group" aria-label="Player">
      <div class="buttons">
        <Go label="To the beginning" sign="⏮" off={disabled || atStart} go={() => stage.goTo(0)} />
        <Go label="To the moment before" sign="⏪" off={disabled || atStart} go={() => stage.toMoment(false)} />
        <Go label="One event back" sign="◀" off={disabled || atStart} go={() => stage.by(-1)} />
        <button type="button" class="primary play" disabled={disabled || last === 0} onClick={() => stage.toggle()}>
          {playing ? "Pause" : "Play"}
        </button>
        <Go label="One event on" sign="▶" off={disabled || atEnd} go={() => stage.by(1)} />
        <Go label="To the next moment" sign="⏩" off={disabled || atEnd} go={() => stage.toMoment(true)} />
        <Go label="To the end" sign="⏭" off={disabled || atEnd} go={() => stage.goTo(last)} />
      </div>
      <input
        class="scrub"
        type="range"
        min={0}
        max={last}
        value={step}
        disabled={disabled}
        aria-label="Event"
        aria-valuetext={`Event ${step} of ${last}, ${inMs(timeAt(stage.model, step))}`}
        onInput={(event) => stage.goTo(event.currentTarget.valueAsNumber)}
      />
      <span class="readout">
        {inMs(timeAt(stage.model, step))} · {step} of {last}
      </span>
      <label class="speed">
        <span class="visually-hidden">Speed</span>
        <select
          value={String(stage.speed.value)}
          onChange={(event) => (stage.speed.value = Number(event.currentTarget.value))}
        >
          {SPEEDS.map((speed) => (
            <option key={speed} value={String(speed)}>{speed}×</option>
          ))}
        </select>
      </label>
    </div>
  );
}

function Go(props: { label: string; sign: string; off: boolean; go: () => void }) {
  return (
    <button type="button" disabled={props.off} onClick={props.go} aria-label={props.label} title={props.label}>
      <span aria-hidden="true">{props.sign}</span>
    </button>
  );
}
