import type { Event, Recording } from "./recording";
import { eventWords, inMs, processName } from "./words";

/** A language of sequence diagrams. */
interface Language {
  begin(title: string, leftOut: number): string[];
  participant(name: string): string;
  /** How a message is drawn that arrived, did not, or is still on its way. */
  arrows: { arrived: string; dropped: string; flying: string };
  arrow(from: string, line: string, to: string, text: string): string;
  /** A note on a process, or across all of them. */
  note(over: string | null, all: readonly string[], text: string): string;
  end: string[];
}

const MERMAID: Language = {
  begin: (title, leftOut) => [
    "sequenceDiagram",
    `    %% ${title}`,
    ...(leftOut > 0 ? [`    %% left out: ${leftOut} overhead messages`] : []),
  ],
  participant: (name) => `    participant ${name}`,
  arrows: { arrived: "->>", dropped: "-x", flying: "-)" },
  arrow: (from, line, to, text) => `    ${from}${line}${to}: ${mermaidText(text)}`,
  note: (over, all, text) => `    Note over ${over ?? [...new Set([all[0], all.at(-1)])].join(",")}: ${mermaidText(text)}`,
  end: [],
};

const PLANTUML: Language = {
  begin: (title, leftOut) => [
    "@startuml",
    `title ${title}`,
    ...(leftOut > 0 ? [`caption left out: ${leftOut} overhead messages`] : []),
  ],
  participant: (name) => `participant ${name}`,
  arrows: { arrived: "->", dropped: "->x", flying: "-->>" },
  arrow: (from, line, to, text) => `${from} ${line} ${to}: ${plantumlText(text)}`,
  note: (over, _, text) => `note ${over === null ? "across" : `over ${over}`}: ${plantumlText(text)}`,
  end: ["@enduml"],
};

/** Mermaid ends a statement at a semicolon and begins a character's name with a hash. */
const mermaidText = (text: string) => text.replace(/[#;<>]/g, (sign) => `#${sign.charCodeAt(0)};`).replaceAll("\n", " ");

/** A tilde takes the meaning from the sign that follows it. */
const plantumlText = (text: string) => text.replace(/[<*_/"~\-\\]/g, "~$&").replaceAll("\n", " ");

/** The run as a Mermaid sequence diagram, as `--trace mermaid` writes it. */
export const mermaid = (run: Recording) => sequence(run, MERMAID);

/** The run as a PlantUML sequence diagram, as `--trace plantuml` writes it. */
export const plantuml = (run: Recording) => sequence(run, PLANTUML);

const isOverhead = (event: Event) => event.event === "send" && event.role === "overhead";

function sequence({ header, events }: Recording, language: Language): string {
  const names = [...header.nodes].sort((a, b) => a - b).map(processName);
  const chance = header.real ? "for real" : `seed ${header.seed}`;
  const title = `${header.title}, ${names.length} processes, ${chance}`;
  const lines = [...language.begin(title, events.filter(isOverhead).length), ...names.map(language.participant)];
  const ends = endsOf(events);
  for (const event of events) {
    if (event.event === "send") {
      if (isOverhead(event)) continue;
      const { arrivals, why } = ends.get(event.id) ?? { arrivals: 0, why: null };
      const { arrived, dropped, flying } = language.arrows;
      const [line, remark] =
        arrivals > 1 ? [arrived, ` (${arrivals} times)`]
        : arrivals === 1 ? [arrived, ""]
        : why !== null ? [dropped, ` (${why})`]
        : [flying, " (on its way)"];
      lines.push(language.arrow(processName(event.from), line, processName(event.to), event.text + remark));
      continue;
    }
    const note = noteOf(event);
    if (note === null) continue;
    const over = event.node == null ? null : processName(event.node);
    lines.push(language.note(over, names, `${inMs(event.us)} ${note}`));
  }
  return [...lines, ...language.end, ""].join("\n");
}

/** How often each message arrived, and why it did not, by its number. */
function endsOf(events: readonly Event[]) {
  const ends = new Map<number, { arrivals: number; why: string | null }>();
  for (const event of events) {
    if (event.event !== "receive" && event.event !== "drop") continue;
    const end = ends.get(event.id) ?? { arrivals: 0, why: null };
    if (event.event === "receive") end.arrivals++;
    else end.why = event.why;
    ends.set(event.id, end);
  }
  return ends;
}

/** What a note says of an event; null if it gets none. */
function noteOf(event: Event): string | null {
  switch (event.event) {
    case "output":
    case "note":
      return event.text;
    case "crash":
      return "crashes";
    case "recover":
      return "recovers";
    case "pause":
      return "pauses";
    case "resume":
      return "resumes";
    default:
      return null;
  }
}

/** The run as a log for ShiViz, as `--trace shiviz` writes it: only events of processes, each with its vector stamp. */
export function shiviz({ events }: Recording): string {
  return events.map((event) => {
    if (event.node == null || event.event === "drop" || event.event === "note") return "";
    const clock = Object.entries(event.vector).map(([node, count]) => `"${processName(Number(node))}":${count}`);
    return `${processName(event.node)} {${clock.join(",")}}\n${shivizWords(event).replaceAll("\n", " ")}\n`;
  }).join("");
}

function shivizWords(event: Event): string {
  return event.event === "input" || event.event === "timer" ? `${event.event} ${event.text}` : eventWords(event);
}
