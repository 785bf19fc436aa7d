import { useEffect, useRef, useState } from "preact/hooks";
import { fetchCatalogue, fetchRun, type Schemas } from "../api/client";
import { EXPLORE, go, place } from "../place";
import { openRun } from "../run/open";
import { startingForm, type RunForm } from "./form";
import { AlgorithmChoice, Fields } from "./fields";
import { Problem } from "./problem";
import { AskRows, FaultRows } from "./rows";
import { lineSpan, mistakeAt, scenarioText } from "./scenario-text";
import "./gallery.css";
import "./new-run.css";

/** Makes a run of one's own: the form writes a scenario, and the scenario can be edited. */
export function NewRun() {
  const [catalogue, setCatalogue] = useState<Schemas["Catalogue"] | null>(null);
  const [trouble, setTrouble] = useState<unknown>(null);
  const fetchIt = () => {
    setTrouble(null);
    fetchCatalogue().then(setCatalogue, setTrouble);
  };
  useEffect(fetchIt, []);
  return (
    <div class="gallery new-run">
      <p>
        <a href={EXPLORE} onClick={go(EXPLORE)}>
          ← Gallery
        </a>
      </p>
      <h1>Make a run of your own</h1>
      {trouble ? <Problem error={trouble} retry={fetchIt} /> : null}
      {catalogue ? <Maker catalogue={catalogue} /> : !trouble && <p role="status">Loading the catalogue…</p>}
    </div>
  );
}

function Maker({ catalogue }: { catalogue: Schemas["Catalogue"] }) {
  const wanted = place.value.params.get("new") ?? "";
  const first = catalogue.algorithms.find((known) => known.name === wanted) ?? catalogue.algorithms[0];
  const [algorithm, setAlgorithm] = useState(first);
  const [form, setForm] = useState<RunForm | null>(first ? startingForm(first) : null);
  const [edited, setEdited] = useState<string | null>(null);
  if (!algorithm || !form) return <Problem error={new Error("The server's catalogue is empty.")} />;
  const made = scenarioText(algorithm, form);
  const choose = (name: string) => {
    const chosen = catalogue.algorithms.find((known) => known.name === name);
    if (!chosen) return;
    setAlgorithm(chosen);
    setForm(startingForm(chosen));
  };
  const change = (part: Partial<RunForm>) => setForm({ ...form, ...part });
  return (
    <>
      {wanted && first?.name !== wanted && (
        <p class="problem" role="alert">
          The catalogue has no algorithm “{wanted}”. The form shows {first?.title} instead.
        </p>
      )}
      <div class="maker">
        <form class="form" onSubmit={(event) => event.preventDefault()}>
          <AlgorithmChoice catalogue={catalogue} algorithm={algorithm} choose={choose} />
          <Fields algorithm={algorithm} limits={catalogue.limits} form={form} change={change} />
          <AskRows algorithm={algorithm} form={form} change={change} />
          <FaultRows form={form} change={change} />
        </form>
        <Editor text={edited ?? made} isEdited={edited !== null} edit={setEdited} limits={catalogue.limits} />
      </div>
    </>
  );
}

interface EditorProps {
  text: string;
  isEdited: boolean;
  /** A text of one's own, or null to take the form's again. */
  edit: (text: string | null) => void;
  limits: Schemas["Limits"];
}

function Editor({ text, isEdited, edit, limits }: EditorProps) {
  const [trouble, setTrouble] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => setTrouble(null), [text]);
  const run = async () => {
    setBusy(true);
    setTrouble(null);
    try {
      await fetchRun({ scenario: text }); // the explorer asks again; here it is only to see whether it can be played
      await openRun({ scenario: text });
    } catch (error) {
      setTrouble(error);
    } finally {
      setBusy(false);
    }
  };
  const mistake = trouble instanceof Error ? mistakeAt(trouble.message) : null;
  const showLine = () => {
    const at = area.current;
    if (!at || !mistake) return;
    at.focus();
    at.setSelectionRange(...lineSpan(text, mistake.line));
  };
  return (
    <section class="editor panel" aria-labelledby="scenario">
      <h2 id="scenario">Scenario</h2>
      <p class="soft" id="scenario-help">
        {isEdited
          ? "You edited this text, so the form no longer changes it."
          : "The form writes this text. You can edit it before you run it."}
      </p>
      <textarea
        ref={area}
        rows={Math.min(Math.max(text.split("\n").length + 1, 8), 24)}
        spellcheck={false}
        value={text}
        aria-labelledby="scenario"
        aria-describedby="scenario-help"
        aria-invalid={mistake !== null}
        maxLength={limits.scenario_bytes}
        onInput={(event) => edit(event.currentTarget.value)}
      />
      {trouble ? (
        <div class="problem" role="alert">
          <pre>{trouble instanceof Error ? trouble.message : String(trouble)}</pre>
          {mistake && (
            <button type="button" onClick={showLine}>
              Go to line {mistake.line}
            </button>
          )}
        </div>
      ) : null}
      <p class="actions">
        <button type="button" class="primary" disabled={busy || text.trim() === ""} onClick={() => void run()}>
          {busy ? "Running…" : "Run"}
        </button>
        {isEdited && (
          <button type="button" onClick={() => edit(null)}>
            Discard my edits
          </button>
        )}
      </p>
    </section>
  );
}
