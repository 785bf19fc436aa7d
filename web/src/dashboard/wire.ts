import type { components } from "../api/member";
import type { components as OfUp } from "../api/up";
import type { Coordination } from "./coordination/types";

type Schemas = components["schemas"];
export type Here = Schemas["Here"];
export type Status = Schemas["Status"];
export type Member = Schemas["Member"];
export type Change = Schemas["Change"];
export type Overview = Schemas["Overview"];
export type Message = Schemas["Message"];
export type Messages = Schemas["Messages"];
export type Up = OfUp["schemas"]["Up"];
export type UpDone = OfUp["schemas"]["UpDone"];

/** Something came that this page makes no sense of: from another version, or from no member at all. */
export class Misunderstood extends Error {}

type Kind = "string" | "number" | "boolean" | "object" | "list";
/** The fields that the page cannot do without. A field that may be absent is no part of a shape. */
type Shape = Record<string, Kind | [Kind, null]>;

const STATUS: Shape = {
  cluster: "string", id: "number", version: "string", election: "string", stance: "string",
  mandate: ["object", null], needed: "number", configured: "number", warnings: "list",
};
const MANDATE: Shape = { leader: "number", term: "number", lease_ms: "number" };
const MEMBER: Shape = { id: "number", http: ["string", null], health: "string" };
const CHANGE: Shape = { at: "string", to: ["number", null], term: ["number", null], reason: "string" };
const MESSAGE: Shape = { at: "string", from: "number", to: "number", kind: "string", text: "string", count: "number" };
const UP_MEMBER: Shape = { id: "number", http: "string", process: "string" };
const NEWS: Shape = { seq: "number", at_ms: "number", text: "string" };
const CLIENT: Shape = { session: "string", client: "string" };
const SESSION: Shape = { ...CLIENT, ttl_ms: "number", holds: "list", waits_for: "list", leads: "list", campaigns_for: "list" };
const ROLE: Shape = { name: "string", policy: "string", leader: ["object", null], candidates: "list", history: "list" };
const LEADER: Shape = { ...CLIENT, token: "number", value: "string" };
const CANDIDATE: Shape = { ...CLIENT, priority: "number", value: "string", since: "string" };
const ROLE_CHANGE: Shape = { at: "string", reason: "string" };
const LOCK: Shape = { name: "string", permits: ["number", null], taken: "number", holders: "list", queue: "list" };
const HOLDER: Shape = { ...CLIENT, mode: "string", permits: "number", token: "number", since: "string" };
const WAITER: Shape = { ...CLIENT, mode: "string", permits: "number", behind: "number", since: "string" };
const DEADLOCK: Shape = { at: "string", cycle: "list", text: "string" };
const WAIT: Shape = { ...CLIENT, lock: "string", since: "string" };
const WAITS_FOR: Shape = { from: "string", to: "string", lock: "string" };

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

function all(value: unknown, shape: Shape, name: string): Fields[] {
  if (!Array.isArray(value)) throw new Misunderstood(`${name} is ${kindOf(value)} instead of list`);
  for (const one of value) fits(one, shape, name);
  return value as Fields[];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Misunderstood("it is no JSON");
  }
}

/** Reads what `/v1/watch` says. */
export function readGlance(text: string): Overview {
  const said = fits(parsed(text), { status: "object", members: "list" }, "the answer");
  const status = fits(said["status"], STATUS, "status");
  if (status["mandate"]) fits(status["mandate"], MANDATE, "mandate");
  all(said["members"], MEMBER, "members");
  all((said["changes"] ??= []), CHANGE, "changes");
  return said as unknown as Overview;
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

/** Reads what `/v1/coordination/watch` says. */
export function readCoordination(text: string): Coordination {
  const said = fits(parsed(text), { id: "number", term: "number", sequence: "number" }, "the answer");
  all((said["sessions"] ??= []), SESSION, "sessions");
  for (const role of all((said["roles"] ??= []), ROLE, "roles")) {
    if (role["leader"]) fits(role["leader"], LEADER, "leader");
    all(role["candidates"], CANDIDATE, "candidates");
    all(role["history"], ROLE_CHANGE, "history");
  }
  for (const lock of all((said["locks"] ??= []), LOCK, "locks")) {
    all(lock["holders"], HOLDER, "holders");
    all(lock["queue"], WAITER, "queue");
  }
  for (const deadlock of all((said["deadlocks"] ??= []), DEADLOCK, "deadlocks")) all(deadlock["cycle"], WAIT, "cycle");
  all((said["waits"] ??= []), WAITS_FOR, "waits");
  return said as unknown as Coordination;
}
