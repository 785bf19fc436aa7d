import type { components } from "../api/member";

type Schemas = components["schemas"];
export type Here = Schemas["Here"];
export type Status = Schemas["Status"];
export type Member = Schemas["Member"];
export type Change = Schemas["Change"];
export type Glance = Schemas["Glance"];
export type Message = Schemas["Message"];
export type Messages = Schemas["Messages"];
export type Up = Schemas["Up"];
export type UpDone = Schemas["UpDone"];

/** Something came that this page makes no sense of: from another version, or from no member at all. */
export class Misunderstood extends Error {}

type Kind = "string" | "number" | "boolean" | "object" | "list";
/** The fields that the page cannot do without. A field that may be absent is no part of a shape. */
type Shape = Record<string, Kind | [Kind, null]>;

const STATUS: Shape = {
  cluster: "string", id: "number", version: "string", election: "string", stance: "string",
  mandate: ["object", null], needed: "number", configured: "number", warnings: "list",
};
const MANDATE: Shape = { leader: "number", epoch: "number", lease_ms: "number" };
const MEMBER: Shape = { id: "number", http: ["string", null], health: "string" };
const CHANGE: Shape = { at: "string", to: ["number", null], epoch: ["number", null], reason: "string" };
const MESSAGE: Shape = { at: "string", from: "number", to: "number", kind: "string", text: "string", count: "number" };
const UP_MEMBER: Shape = { id: "number", http: "string", process: "string" };
const NEWS: Shape = { seq: "number", at_ms: "number", text: "string" };

type Fields = Record<string, unknown>;

function kindOf(value: unknown): string {
  return value === null || value === undefined ? "nothing" : Array.isArray(value) ? "list" : typeof value;
}

function fits(value: unknown, shape: Shape, name: string): Fields {
  if (kindOf(value) !== "object") throw new Misunderstood(`${name} is ${kindOf(value)} instead of object`);
  const fields = value as Fields;
  for (const [field, wanted] of Object.entries(shape)) {
    const [kind, orNothing] = typeof wanted === "string" ? [wanted, false] : [wanted[0], true];
    const found = kindOf(fields[field]);
    if (found === kind || (orNothing && found === "nothing")) continue;
    throw new Misunderstood(`${name}.${field} is ${found} instead of ${kind}`);
  }
  return fields;
}

function all(value: unknown, shape: Shape, name: string): void {
  if (!Array.isArray(value)) throw new Misunderstood(`${name} is ${kindOf(value)} instead of list`);
  for (const one of value) fits(one, shape, name);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Misunderstood("it is no JSON");
  }
}

/** Reads what `/v1/watch` says. */
export function readGlance(text: string): Glance {
  const said = fits(parsed(text), { status: "object", members: "list" }, "the answer");
  const status = fits(said["status"], STATUS, "status");
  if (status["mandate"]) fits(status["mandate"], MANDATE, "mandate");
  all(said["members"], MEMBER, "members");
  all((said["changes"] ??= []), CHANGE, "changes");
  return said as unknown as Glance;
}

/** Reads what `/v1/messages` says. */
export function readMessages(text: string): Messages {
  const said = fits(parsed(text), { id: "number", messages: "list" }, "the answer");
  all(said["messages"], MESSAGE, "messages");
  return said as unknown as Messages;
}

/** Reads what `/v1/up` says. */
export function readUp(text: string): Up {
  const said = fits(parsed(text), { members: "list", partition: "list", news: "list" }, "the answer");
  all(said["members"], UP_MEMBER, "members");
  all(said["news"], NEWS, "news");
  return said as unknown as Up;
}
