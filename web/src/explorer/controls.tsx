import { useComputed } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { inMs } from "../run/words";
import { Icon, type IconName } from "./icons";
import { Ticks } from "./ticks";
import { SPEEDS, type Stage } from "./stage";

/** The buttons and the slider that move through a run. */
export function Controls(props: { stage: Stage; disabled: boolean; children: ComponentChildren }) {
  const { stage, disabled, children } = props;
  const { last } = stage.model;
  return (
    <div class="controls" role="group" aria-label="Player">
      <Buttons stage={stage} disabled={disabled} />
      <div class="track">
        <Slider stage={stage} disabled={disabled} />
        <Ticks model={stage.model} />
      </div>
      <Readout stage={stage} />
      <label class="speed">
        <span>Speed</span>
        <select
          value={String(stage.speed.value)}
          disabled={disabled || last === 0}
          onChange={(event) => (stage.speed.value = Number(event.currentTarget.value))}
        >
          {SPEEDS.map((speed) => (
            <option key={speed} value={String(speed)}>{speed}×</option>
          ))}
        </select>
      </label>
      {children}
    </div>
  );
}

function Buttons({ stage, disabled }: { stage: Stage; disabled: boolean }) {
  const atStart = useComputed(() => stage.step.value.number === 0).value || disabled;
  const atEnd = useComputed(() => stage.step.value.number >= stage.limit.value.number).value || disabled;
  const playing = stage.playing.value;
  return (
    <div class="buttons">
      <Go label="To the beginning" keys="Home" icon="first" off={atStart} go={() => stage.goTo(0)} />
      <Go label="Previous key moment" keys="p" icon="momentBack" off={atStart} go={() => stage.toMoment(false)} />
      <Go label="One event back" keys="←" icon="back" off={atStart} go={() => stage.by(-1)} />
      <button
        type="button"
        class="primary play"
        disabled={disabled || stage.model.last === 0}
        onClick={() => stage.toggle()}
        aria-label={playing ? "Pause" : "Play"}
        title={`${playing ? "Pause" : "Play"} (space)`}
      >
        <Icon name={playing ? "pause" : "play"} />
        <span aria-hidden="true">{playing ? "Pause" : "Play"}</span>
      </button>
      <Go label="One event forward" keys="→" icon="on" off={atEnd} go={() => stage.by(1)} />
      <Go label="Next key moment" keys="n" icon="momentOn" off={atEnd} go={() => stage.toMoment(true)} />
      <Go label="To the end" keys="End" icon="last" off={atEnd} go={() => stage.goTo(stage.model.last)} />
    </div>
  );
}

function Go(props: { label: string; keys: string; icon: IconName; off: boolean; go: () => void }) {
  const { label, keys, icon, off, go } = props;
  return (
    <button type="button" disabled={off} onClick={go} aria-label={label} title={`${label} (${keys})`}>
      <Icon name={icon} />
    </button>
  );
}

function Slider({ stage, disabled }: { stage: Stage; disabled: boolean }) {
  const step = stage.step.value;
  const { last } = stage.model;
  return (
    <input
      class="scrub"
      type="range"
      min={0}
      max={last}
      value={step.number}
      disabled={disabled || last === 0}
      aria-label="Event"
      aria-valuetext={`${step.number} of ${last}, at ${inMs(step.us)}`}
      onInput={(event) => stage.goTo(event.currentTarget.valueAsNumber)}
    />
  );
}

function Readout({ stage }: { stage: Stage }) {
  const step = stage.step.value;
  return (
    <span class="readout">
      <strong>{inMs(step.us)}</strong> · event {step.happened} of {stage.model.events.length}
    </span>
  );
}
