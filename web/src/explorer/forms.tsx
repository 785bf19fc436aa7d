import { useEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { cutLink } from "../run/branches";
import { processName } from "../run/words";

interface FormProps {
  node: number;
  nodes: readonly number[];
  /** What is to be filled in: `link`, `partition`, `command`, or a verb such as `transfer:TO:AMOUNT`. */
  ask: string;
  onCommand: (command: string) => void;
  onClose: () => void;
}

/** Asks for what a command still lacks. */
export function Form(props: FormProps) {
  switch (props.ask) {
    case "link":
      return <LinkForm {...props} />;
    case "partition":
      return <PartitionForm {...props} />;
    case "command":
      return <CommandForm {...props} />;
    default:
      return <VerbForm {...props} />;
  }
}

function LinkForm({ node, nodes, onCommand, onClose }: FormProps) {
  const others = nodes.filter((other) => other !== node);
  const [other, setOther] = useState(others[0]!);
  const [ways, setWays] = useState("both");
  const command = ways === "both" ? cutLink(node, other) : ways === "out" ? `cut ${node}>${other}` : `cut ${other}>${node}`;
  return (
    <Asking title={`Cut a link of ${processName(node)}`} command={command} onCommand={onCommand} onClose={onClose}>
      <label>
        To{" "}
        <select value={String(other)} onChange={({ currentTarget }) => setOther(Number(currentTarget.value))}>
          {others.map((id) => <option key={id} value={String(id)}>{processName(id)}</option>)}
        </select>
      </label>
      <label>
        Which way{" "}
        <select value={ways} onChange={({ currentTarget }) => setWays(currentTarget.value)}>
          <option value="both">both ways</option>
          <option value="out">only from {processName(node)}</option>
          <option value="in">only to {processName(node)}</option>
        </select>
      </label>
    </Asking>
  );
}

function PartitionForm({ node, nodes, onCommand, onClose }: FormProps) {
  const [side, setSide] = useState<ReadonlySet<number>>(new Set([node]));
  const rest = nodes.filter((id) => !side.has(id));
  const list = nodes.filter((id) => side.has(id));
  const isSplit = list.length > 0 && rest.length > 0;
  const command = isSplit ? `partition ${list.join(",")}|${rest.join(",")}` : null;
  const toggle = (id: number) => {
    const next = new Set(side);
    if (!next.delete(id)) next.add(id);
    setSide(next);
  };
  return (
    <Asking title="Partition the group" command={command} onCommand={onCommand} onClose={onClose}>
      <fieldset>
        <legend>Which processes are on side A? The others are on side B.</legend>
        <div class="sides">
          {nodes.map((id) => (
            <label key={id}>
              <input type="checkbox" checked={side.has(id)} onChange={() => toggle(id)} />
              {processName(id)} <b>{side.has(id) ? "A" : "B"}</b>
            </label>
          ))}
        </div>
      </fieldset>
      {!isSplit && <p>Each side needs at least one process.</p>}
    </Asking>
  );
}

function CommandForm({ node, onCommand, onClose }: FormProps) {
  const [text, setText] = useState(`slow ${node} by=50ms`);
  return (
    <Asking title="Run a scenario command" command={text.trim() || null} onCommand={onCommand} onClose={onClose}>
      <label>
        Command{" "}
        <input value={text} onInput={({ currentTarget }) => setText(currentTarget.value)} spellcheck={false} />
      </label>
      <p>Examples: <code>crash 1 2</code>, <code>slow 3 by=50ms</code>, <code>clock 3 offset=+200ms</code> or <code>calm</code>.</p>
    </Asking>
  );
}

/** A verb with parts: `transfer:TO:AMOUNT` asks for both. */
function VerbForm({ node, ask, onCommand, onClose }: FormProps) {
  const [verb = "", ...parts] = ask.split(":");
  const [values, setValues] = useState<readonly string[]>(parts.map(() => ""));
  const isFull = values.every((value) => /^\S+$/.test(value));
  const command = isFull ? `${[verb, ...values].join(":")} ${node}` : null;
  return (
    <Asking title={`Ask ${processName(node)} to ${verb}`} command={command} onCommand={onCommand} onClose={onClose}>
      {parts.map((part, place) => (
        <label key={part}>
          {part.toLowerCase()}{" "}
          <input
            value={values[place]}
            onInput={({ currentTarget }) => setValues(values.map((old, at) => (at === place ? currentTarget.value : old)))}
          />
        </label>
      ))}
    </Asking>
  );
}

interface AskingProps {
  title: string;
  /** What the form comes to; null while something is missing. */
  command: string | null;
  onCommand: (command: string) => void;
  onClose: () => void;
  children: ComponentChildren;
}

function Asking({ title, command, onCommand, onClose, children }: AskingProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="asking" onClose={onClose} aria-label={title}>
      <form
        method="dialog"
        onSubmit={() => {
          if (command !== null) onCommand(command);
        }}
      >
        <h2>{title}</h2>
        {children}
        <p class="command"><code>{command?.replace(";", "\n") ?? " "}</code></p>
        <div class="row">
          <button type="submit" class="primary" disabled={command === null}>Do it now</button>
          <button type="button" onClick={() => dialog.current?.close()}>Cancel</button>
        </div>
      </form>
    </dialog>
  );
}
