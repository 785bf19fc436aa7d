import type { Event } from "./recording";

/** A process, as it is called everywhere. */
export const processName = (id: number) => `P${id}`;

/** A time or a span, as in scenarios: `20ms`, `166.133ms`, `90s`. */
export function inMs(us: number): string {
  if (us >= 10_000_000) return `${trim(us / 1_000_000)}s`;
  return `${trim(us / 1000)}ms`;
}

const trim = (value: number) => String(Math.round(value * 1000) / 1000);

/** What an event is, without its place and time. */
export function eventWords(event: Event): string {
  switch (event.event) {
    case "send":
      return `sends ${event.text} to ${processName(event.to)}`;
    case "receive":
      return `receives ${event.text} from ${processName(event.from)}`;
    case "drop":
      return `does not receive ${event.text} from ${processName(event.from)}: ${DROPPED[event.why] ?? event.why}`;
    case "timer":
      return `timer ${timerWords(event.text ?? "")} expires`;
    case "input":
      return `is asked to ${event.text}`;
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
  }
}

const DROPPED: Record<string, string> = {
  lost: "the message was lost",
  cut: "the link is cut",
  down: "the receiver is down",
};

/** What an event is, with its place: `P2 sends ELECTION to P3`. */
export function sentence(event: Event): string {
  const words = eventWords(event);
  return event.node == null ? `Network: ${words}` : `${processName(event.node)} ${words}`;
}

/** A command of the scenario language as a label: `crash 3` is `P3 crashes`. */
export function deedWords(command: string): string {
  const [first = "", ...more] = command.split(";");
  if (more.length > 0) return `${deedWords(first)}, and ${more.length} more`;
  const [verb = "", ...rest] = command.trim().split(/\s+/);
  const who = rest.map(names).join(", ");
  const several = rest.length > 1 || /\.\.|,/.test(rest[0] ?? "");
  const verbs = DEEDS[verb];
  if (verbs && who) return `${who} ${verbs[several ? 1 : 0]}`;
  if (verb === "cut") {
    const [from = "", to = ""] = (rest[0] ?? "").split(/<?>/);
    if (rest[0]?.includes("<>")) return `link ${names(from)}–${names(to)} cut`;
    return `${names(from)} cut off from ${names(to)}`;
  }
  if (verb === "partition") return `partition ${rest.join(" ").replaceAll("|", " | ")}`;
  if (verb === "heal") return rest.length > 1 ? `healed: ${deedWords(rest.join(" "))}` : "cuts healed";
  const message = /^(\d+)->(\d+)#\d+$/.exec(rest[0] ?? "");
  if (message && MESSAGES[verb]) return `message ${names(message[1]!)} → ${names(message[2]!)} ${MESSAGES[verb]}`;
  if (verb === "fire") return `timer of ${names((rest[0] ?? "").split("#")[0]!)} fires`;
  return who ? `${who}: ${verb}` : command;
}

const MESSAGES: Record<string, string> = { deliver: "arrives", repeat: "arrives twice", lose: "lost" };

const DEEDS: Record<string, [string, string]> = {
  crash: ["crashes", "crash"],
  recover: ["recovers", "recover"],
  pause: ["pauses", "pause"],
  resume: ["resumes", "resume"],
};

/** `1,2` as `P1, P2`; any other text stays as it is. */
const names = (ids: string) => ids.replace(/(^|[,.])(\d+)/g, "$1P$2").replaceAll(",", ", ");

/** A timer's name in words: of `Election(AckTimeout)`, “ack timeout” of the election. */
export function timerWords(name: string): string {
  const parts = name.match(/[\w.]+/g) ?? [];
  const names = parts.filter((part) => /^[A-Z][a-z]/.test(part)).map((part) => part.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase());
  const values = parts.filter((part) => !/^[A-Z][a-z]/.test(part));
  const own = names.pop();
  if (own === undefined) return name;
  return `“${[own, ...values].join(" ")}”${names[0] === undefined ? "" : ` of the ${names[0]}`}`;
}
