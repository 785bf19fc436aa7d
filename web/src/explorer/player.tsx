import type { Schemas } from "../api/client";
import { currentEvent } from "../run/model";
import { inMs, sentence } from "../run/words";
import { Controls } from "./controls";
import { Diagram } from "./diagram/diagram";
import type { Stage } from "./stage";

/**
 * Shows a run and moves through it. For a lesson, too:
 *
 *     const stage = new Stage(modelOf(run), 0, 12);
 *     <Player stage={stage} rules={algorithm.rules} hideFuture />
 *
 * Read `stage.step.value` to know where the viewer is; `stage.goTo(step)` and `stage.play()` move;
 * `stage.limit.value = step` lets nobody get beyond a step, and playing stops there.
 */
export interface PlayerProps {
  /** Where one is in the run. Whoever shows the player makes it, and keeps it. */
  stage: Stage;
  /** The algorithm's rules, from the catalogue; those that just fired are marked. */
  rules?: readonly Schemas["Rule"][];
  /** Whether the diagram leaves out what has not happened yet. */
  hideFuture?: boolean;
  /** Whether the buttons and keys that move through the run do nothing for now. */
  disabled?: boolean;
}

/** A run with its views, and the buttons that move through it. */
export function Player({ stage, hideFuture = false, disabled = false }: PlayerProps) {
  const step = stage.step.value;
  const event = currentEvent(stage.model, step);
  return (
    <div class="player">
      <p class="now" aria-live="polite">
        {event ? `${inMs(event.us)}  ${sentence(event)}` : "Before the first event"}
      </p>
      <Diagram stage={stage} hideFuture={hideFuture} />
      <Controls stage={stage} disabled={disabled} />
    </div>
  );
}
