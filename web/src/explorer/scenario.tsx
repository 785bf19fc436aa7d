import { useState } from "preact/hooks";
import { openRun } from "../run/open";

/** The scenario of a run, to read and to change. */
export function ScenarioText({ scenario, open = false }: { scenario: string; open?: boolean }) {
  const [text, setText] = useState(scenario);
  const rows = Math.min(24, text.split("\n").length + 1);
  return (
    <details class="panel scenario" open={open}>
      <summary>Scenario</summary>
      <textarea
        aria-label="Scenario"
        spellcheck={false}
        rows={rows}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <button type="button" disabled={text.trim() === "" || (text === scenario && !open)} onClick={() => void openRun({ scenario: text })}>
        Run this scenario
      </button>
    </details>
  );
}
