import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { ask, fetchRun, ServerError, type Schemas } from "../api/client";
import { EXPLORE, go, navigate, place } from "../place";
import { openRun } from "../run/open";
import { useDrops } from "./drops";
import { checkSize, decode, OpenError, recognise } from "./recognise";
import "./gallery.css";
import "./open.css";

/** What became of the last thing that the viewer tried to open. */
const state = signal<{ name: string; error: unknown } | null>(null);

/** Opens a file, or says in the room for it why that cannot be. */
export async function openFile(file: File): Promise<void> {
  await opening(file.name, async () => {
    checkSize(file.size);
    return decode(new Uint8Array(await file.arrayBuffer()));
  });
}

async function openText(text: string): Promise<void> {
  await opening("the pasted text", () => {
    checkSize(text.length);
    return text;
  });
}

/** Opens the file that the server was started with. */
async function openGiven(): Promise<void> {
  await opening("the given file", async () => {
    const { name, text } = await ask<Schemas["Opened"]>("/v1/explore/opened");
    state.value = { name, error: null };
    return text;
  });
}

async function opening(name: string, read: () => string | Promise<string>): Promise<void> {
  state.value = { name, error: null };
  try {
    const found = recognise(await read());
    if ("trace" in found) {
      const { recording, problem } = found.trace;
      await openRun({ recording, name, problem });
    } else {
      await fetchRun({ scenario: found.scenario }); // so that mistakes are told here, beside the file's name
      await openRun({ scenario: found.scenario });
    }
    state.value = null;
  } catch (error) {
    state.value = { name, error };
  }
}

/** Opens a scenario or a saved trace: chosen, dropped or pasted. */
export function Open() {
  const [text, setText] = useState("");
  useDrops((file) => void openFile(file));
  useEffect(() => {
    if (place.value.params.get("open") === "given") void openGiven();
    return () => void (state.value = null);
  }, []);
  const last = state.value;
  return (
    <div class="gallery open">
      <p>
        <a href={EXPLORE} onClick={go(EXPLORE)}>
          ← Gallery
        </a>
      </p>
      <h1>Open a scenario or a trace</h1>
      {last && !last.error ? <p role="status">Opening {last.name}…</p> : null}
      {last?.error ? <Refused name={last.name} error={last.error} /> : null}
      <section class="drop">
        <p>Drop a file here, or</p>
        <label class="button">
          Choose a file
          <input
            class="visually-hidden"
            type="file"
            accept=".txt,.json,.jsonl,text/plain,application/json"
            onChange={(event) => {
              const file = event.currentTarget.files?.[0];
              if (file) void openFile(file);
              event.currentTarget.value = ""; // so that the same file can be chosen again, corrected
            }}
          />
        </label>
      </section>
      <section class="paste">
        <label for="pasted">Or paste the text</label>
        <textarea
          id="pasted"
          rows={8}
          spellcheck={false}
          value={text}
          placeholder="cluster bully 1..4&#10;crash 4&#10;suspect 2&#10;run"
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <p class="actions">
          <button type="button" class="primary" disabled={text.trim() === ""} onClick={() => void openText(text)}>
            Open
          </button>
        </p>
      </section>
      <section class="soft">
        <h2>What can be opened</h2>
        <ul>
          <li>
            A scenario: <code>bellwether sim … --save late.txt</code>, or a file of your own.
          </li>
          <li>
            What the checker found: <code>bellwether check … --trace scenario --out found.txt</code>
          </li>
          <li>
            A recorded run, simulated or real: <code>bellwether sim</code>, <code>check</code> or{" "}
            <code>host … --trace json --out run.jsonl</code>
          </li>
        </ul>
        <p>
          A scenario is played again and can be branched. A trace can only be watched: it does not contain what else
          could have happened.
        </p>
      </section>
    </div>
  );
}

function Refused({ name, error }: { name: string; error: unknown }) {
  const hint = error instanceof OpenError || error instanceof ServerError ? error.hint : null;
  return (
    <div class="problem" role="alert">
      <p>
        <b>Cannot open {name}.</b>
      </p>
      <pre>{error instanceof Error ? error.message : String(error)}</pre>
      {hint && <p>{hint}</p>}
    </div>
  );
}

/** For the gallery: a file that is dropped there is opened, and the gallery shows what is wrong with it. */
export function openDropped(file: File) {
  navigate(`${EXPLORE}#open`);
  void openFile(file);
}
