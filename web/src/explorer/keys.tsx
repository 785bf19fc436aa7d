import { useEffect } from "preact/hooks";
import type { Stage } from "./stage";

/** What the keys do, wherever on the page one is. */
export const KEYS: readonly (readonly [keys: string, what: string])[] = [
  ["Space", "play or pause"],
  ["← →", "one event back or forward"],
  ["p n", "previous or next key moment"],
  ["Home End", "to the beginning or the end"],
  ["− +", "slower or faster"],
  ["Tab, then arrows", "choose a process; Enter opens its menu"],
  ["Esc", "deselect an event, close a menu"],
  ["?", "show or hide these keys"],
];

/** Moves through a run by keys, unless the viewer types or a button wants the key for itself. */
export function useKeys(stage: Stage, disabled: boolean, onHelp: () => void) {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTaken(event)) return;
      const act = ACTS[event.key];
      if (event.key === "?") onHelp();
      else if (act && !disabled) act(stage);
      else return;
      event.preventDefault();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [stage, disabled]);
}

const ACTS: Record<string, (stage: Stage) => void> = {
  " ": (stage) => stage.toggle(),
  ArrowLeft: (stage) => stage.by(-1),
  ArrowRight: (stage) => stage.by(1),
  n: (stage) => stage.toMoment(true),
  p: (stage) => stage.toMoment(false),
  Home: (stage) => stage.goTo(0),
  End: (stage) => stage.goTo(stage.model.last),
  "+": (stage) => stage.faster(1),
  "-": (stage) => stage.faster(-1),
  Escape: (stage) => (stage.picked.value = null),
};

/** Whether what has the focus has a use of its own for the key. */
function isTaken({ target, key }: KeyboardEvent): boolean {
  if (!(target instanceof Element)) return false;
  if (target.closest("dialog, [role=menu]")) return true;
  if (target instanceof HTMLInputElement && target.type === "range") return key !== "n" && key !== "p" && key !== " ";
  if (target.closest("input, textarea, select, [contenteditable]")) return true;
  return key === " " && target.closest("button, summary, a, [role=button]") !== null;
}

/** The list of the keys. */
export function KeyList() {
  return (
    <dl class="keys">
      {KEYS.map(([keys, what]) => (
        <div key={keys}>
          <dt><kbd>{keys}</kbd></dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  );
}
