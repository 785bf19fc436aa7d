import { useState } from "preact/hooks";
import { mermaid, plantuml, shiviz } from "../run/sequence";
import { writeTrace } from "../run/trace";
import { diagramPng, diagramSvg } from "./diagram/export";
import { download } from "./download";
import { frameOf } from "./embedded";
import { Menu } from "./menu";
import type { Session } from "./session";

/** Sharing and keeping what is shown. */
export function Actions({ session, onProblem }: { session: Session; onProblem: (problem: string) => void }) {
  const [anchor, setAnchor] = useState<Element | null>(null);
  const [said, setSaid] = useState("");
  const [link, setLink] = useState<string | null>(null);
  const copy = async (text: (link: string) => string, done: string) => {
    session.flush();
    if ("file" in session.source) return onProblem("This trace is too long for a link. Send the file instead.");
    const copied = text(location.href);
    try {
      await navigator.clipboard.writeText(copied);
      setSaid(done);
    } catch {
      setLink(copied); // not every page may write there; then by hand
    }
  };
  const { model } = session.stage;
  const happened = () => session.stage.step.peek().happened;
  const { header, scenario } = model.recording;
  const name = `${header.algorithm || "run"}-${header.nodes.length}`;
  const choices = [
    { label: "Picture of the diagram (SVG)", act: () => download(`${name}.svg`, diagramSvg(model, happened()), "image/svg+xml") },
    {
      label: "Picture of the diagram (PNG)",
      act: () => {
        diagramPng(model, happened()).then((png) => download(`${name}.png`, png), (error: Error) => onProblem(error.message));
      },
    },
    ...(scenario === null ? [] : [{ label: "Scenario file", act: () => download(`${name}.txt`, scenario) }]),
    { label: "Trace (JSON Lines)", act: () => download(`${name}.jsonl`, writeTrace(model.recording), "application/jsonl") },
    { label: "Sequence diagram (Mermaid)", act: () => download(`${name}.mmd`, mermaid(model.recording)) },
    { label: "Sequence diagram (PlantUML)", act: () => download(`${name}.puml`, plantuml(model.recording)) },
    { label: "Log for ShiViz", act: () => download(`${name}.log`, shiviz(model.recording)) },
  ];
  return (
    <div class="actions">
      <span role="status">{said}</span>
      <button type="button" class="primary" onClick={() => void copy((link) => link, "Link copied")}>Share</button>
      {/* A server refuses to be framed: its page may have the dashboard's buttons. */}
      {__BELLWETHER_SITE__ && (
        <button type="button" title="Copy an &lt;iframe&gt; for slides and course pages" onClick={() => void copy(frameOf, "Frame copied")}>
          Embed
        </button>
      )}
      <button type="button" aria-haspopup="menu" onClick={(event) => setAnchor(event.currentTarget)}>Export</button>
      {anchor && <Menu title="Export" anchor={anchor} choices={choices} onClose={() => setAnchor(null)} />}
      {link !== null && (
        <label class="link">
          Copy this{" "}
          <input readOnly value={link} onFocus={(event) => event.currentTarget.select()} ref={(input) => input?.focus()} />
        </label>
      )}
    </div>
  );
}
