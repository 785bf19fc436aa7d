import type { components } from "../../api/member";

// What `/v1/coordination` says.
type Schemas = components["schemas"];
export type Coordination = Schemas["Coordination"];
export type Session = Schemas["Session"];
export type Lock = Schemas["Lock"];
export type Holder = Schemas["Holder"];
export type Waiter = Schemas["Waiter"];
export type Mode = Schemas["Mode"];
export type Role = Schemas["Role"];
export type Candidate = Schemas["Candidate"];
export type Policy = Schemas["Policy"];
export type Deadlock = Schemas["Deadlock"];
export type WaitsFor = Schemas["WaitsFor"];
