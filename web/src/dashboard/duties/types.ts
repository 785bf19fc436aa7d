// What `/v1/duties` says, as crates/api/src/duties.rs has it.

/** Everything that a member's copy shows of what the coordinator does for clients. */
export interface Duties {
  id: number;
  coordinator?: number | null;
  epoch: number;
  sequence: number;
  sessions: Session[];
  roles: Role[];
  locks: Lock[];
  deadlocks: Deadlock[];
  waits: WaitsFor[];
  left_out?: number;
}

/** One client. */
export interface Session {
  session: string;
  client: string;
  ttl_ms: number;
  since: string;
  holds: string[];
  waits_for: string[];
  leads: string[];
  stands_for: string[];
}

/** How a lock is wanted or held. */
export type Mode = "exclusive" | "shared" | "permits";

export interface Lock {
  name: string;
  permits?: number | null;
  taken: number;
  holders: Holder[];
  queue: Waiter[];
}

export interface Holder {
  session: string;
  client: string;
  mode: Mode;
  permits: number;
  token: number;
  since: string;
}

export interface Waiter {
  session: string;
  client: string;
  mode: Mode;
  permits: number;
  behind: number;
  since: string;
}

/** How a role is filled. */
export type Policy = "first-come" | "priority" | "preempt";

export interface Role {
  name: string;
  policy: Policy;
  leader?: Leader | null;
  candidates: Candidate[];
  history: RoleChange[];
}

export interface Leader {
  session: string;
  client: string;
  token: number;
  value: string;
  asked_to_go: boolean;
}

export interface Candidate {
  session: string;
  client: string;
  priority: number;
  value: string;
  since: string;
  leads: boolean;
}

export interface RoleChange {
  at: string;
  leader?: string | null;
  token?: number | null;
  value: string;
  reason: string;
}

export interface Deadlock {
  at: string;
  cycle: Wait[];
  aborted?: string | null;
  text: string;
}

export interface Wait {
  session: string;
  client: string;
  lock: string;
  since: string;
}

/** An edge of the wait-for graph. */
export interface WaitsFor {
  from: string;
  to: string;
  lock: string;
}
