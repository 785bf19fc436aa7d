import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Schemas } from "../api/client";
import { inMs, sentence } from "../run/words";
import { Guard } from "../guard";
import { Controls } from "./controls";
import { Diagram } from "./diagram/diagram";
import "./explorer.css";
import { KeyList, useKeys } from "./keys";
import { Legend } from "./legend";
import { ClockChart } from "./panels/clocks";
import { Counters } from "./panels/counters";
import { Cuts } from "./panels/cuts";
import { Stamps } from "./panels/stamps";
import { Events } from "./panels/events";
import { Rules } from "./panels/rules";
import { State } from "./panels/state";
import type { Stage } from "./stage";
import { useTrailing } from "./trail";
import { FEW } from "./topology/layout";
import { Topology, type TopologyProps } from "./topology/topology";

/** What can stand below the pictures. */
export type Panel = "state" | "rules" | "counters" | "events";

/**
 * Shows a run and moves through it. For a lesson, too:
 *
 *     const stage = new Stage(modelOf(run), 0, 12);
 *     <Player key={...} stage={stage} rules={algorithm.rules} panels={["rules"]} hideFuture />
 *
 * Read `stage.step.value` to know where the viewer is; `stage.goTo(step)` and `stage.play()` move;
 * `stage.limit.value = step` is the last step that can be reached, and playing stops there. Another stage
 * needs another `key`.
 */
export interface PlayerProps {
  /** Where one is in the run. The component that shows the player makes it and keeps it. */
  stage: Stage;
  /** The algorithm's rules, from the catalogue; those that just fired are marked. */
  rules?: readonly Schemas["Rule"][];
  /** What stands below the pictures; all of it unless told otherwise. */
  panels?: readonly Panel[];
  /** Whether the diagram leaves out what has not happened yet. */
  hideFuture?: boolean;
  /** Whether the buttons and keys that move through the run do nothing for now. */
  disabled?: boolean;
  /** What stands between the buttons and the panels. */
  below?: ComponentChildren;
  /** Opens what can be done to a process, or to a link; absent if nothing can. */
  onNode?: TopologyProps["onNode"];
  onLink?: TopologyProps["onLink"];
}

const ALL: readonly Panel[] = ["state", "rules", "counters", "events"];

/** A run with its views, and the buttons that move through it. */
export function Player(props: PlayerProps) {
  const { stage, rules = [], panels = ALL, hideFuture = false, disabled = false, below, onNode, onLink } = props;
  const showsHelp = useSignal(false);
  const toggleHelp = () => (showsHelp.value = !showsHelp.value);
  useKeys(stage, disabled, toggleHelp);
  return (
    <div class={stage.model.header.nodes.length > FEW ? "player" : "player few"}>
      <div class="pictures">
        <Guard level="panel" name="Network"><Topology stage={stage} onNode={onNode} onLink={onLink} /></Guard>
        <Guard level="panel" name="Space-time diagram"><Diagram stage={stage} hideFuture={hideFuture} /></Guard>
      </div>
      <div class="desk">
        <Guard level="panel" name="Current event"><Now stage={stage} rules={rules} /></Guard>
        <Controls stage={stage} disabled={disabled}>
          <button type="button" aria-expanded={showsHelp.value} onClick={toggleHelp} title="Keys and signs (?)">
            <span aria-hidden="true">?</span>
            <span class="visually-hidden">Keys and signs</span>
          </button>
        </Controls>
      </div>
      {showsHelp.value && (
        <section class="panel help" aria-label="Keys and signs">
          <KeyList />
          <Legend />
        </section>
      )}
      <div class="seen">
        <Guard level="panel" name="Clocks"><ClockChart stage={stage} hideFuture={hideFuture} /></Guard>
        <Guard level="panel" name="Recorded"><Cuts stage={stage} /></Guard>
        <Guard level="panel" name="Stamps"><Stamps stage={stage} /></Guard>
        {panels.includes("state") && <Guard level="panel" name="Processes"><State stage={stage} /></Guard>}
      </div>
      {below}
      <div class="panels">
        <div>
          {panels.includes("events") && (
            <Guard level="panel" name="Events"><Events stage={stage} hideFuture={hideFuture} /></Guard>
          )}
        </div>
        {panels.includes("rules") && rules.length > 0 && (
          <div><Guard level="panel" name="Rules"><Rules stage={stage} rules={rules} /></Guard></div>
        )}
        {panels.includes("counters") && (
          <div><Guard level="panel" name="Messages"><Counters stage={stage} hideFuture={hideFuture || !stage.ended.value} /></Guard></div>
        )}
      </div>
    </div>
  );
}

/** What is happening, in a sentence. While playing it would be too much to read out. */
function Now({ stage, rules }: { stage: Stage; rules: readonly Schemas["Rule"][] }) {
  const step = useTrailing(stage);
  const { event, violation } = step;
  const applied = rules.filter(({ id }) => step.fired.rules.includes(id));
  return (
    <>
    <p class={violation ? "now violated" : "now"} aria-live={stage.playing.value ? "off" : "polite"}>
      {violation ? (
        `${inMs(violation.us)} · ${violation.name} is violated: ${violation.text}`
      ) : event ? (
        `${inMs(event.us)} · ${sentence(event)}${event.rules?.length ? ` (${event.rules.join(", ")})` : ""}`
      ) : stage.model.last === 0 ? (
        "This run has no events."
      ) : (
        "Before the first event. Press Play or go step by step."
      )}
    </p>
    {rules.length > 0 && (
      <p class="by-rule" title={applied.map(({ id, text }) => `${id} ${text}`).join("\n")}>
        {applied.map(({ id, text }) => <span key={id}><b>{id}</b> {text} </span>)}
      </p>
    )}
    </>
  );
}
