import type { Candidate, Deadlock, Coordination, Holder, Lock, Role, Session, WaitsFor, Waiter } from "./types";

// What a member could say, for tests.

/** Clients by session, so that a test need not say it twice. */
const CLIENTS: Record<string, string> = {
  "s3.1": "nightly-backup", "s3.2": "report", "s3.4": "billing-1", "s3.5": "billing-2", "s3.7": "migrate",
  "s3.8": "mailer", "s3.9": "importer",
};
export const clientOf = (session: string): string => CLIENTS[session] ?? `client-${session.replace(/^s\d+\./, "")}`;

const SINCE = "2026-11-16T11:58:03Z";

export const holder = (session: string, more: Partial<Holder> = {}): Holder =>
  ({ session, client: clientOf(session), mode: "exclusive", permits: 0, token: 12_884_901_930, since: SINCE, ...more });

export const waiter = (session: string, behind = 0, more: Partial<Waiter> = {}): Waiter =>
  ({ session, client: clientOf(session), mode: "exclusive", permits: 0, behind, since: SINCE, ...more });

export const lock = (name: string, holders: Holder[], queue: Waiter[] = [], permits: number | null = null): Lock =>
  ({ name, permits, taken: holders.reduce((sum, one) => sum + one.permits, 0), holders, queue });

export const session = (name: string, more: Partial<Session> = {}): Session =>
  ({ session: name, client: clientOf(name), ttl_ms: 10_000, since: SINCE, holds: [], waits_for: [], leads: [], campaigns_for: [], ...more });

export const candidate = (name: string, more: Partial<Candidate> = {}): Candidate =>
  ({ session: name, client: clientOf(name), priority: 0, value: "", since: SINCE, leads: false, ...more });

export const role = (name: string, candidates: Candidate[], more: Partial<Role> = {}): Role => {
  const leads = candidates.find((one) => one.leads);
  const leader = leads && { session: leads.session, client: leads.client, token: 12_884_901_901, value: leads.value, preempt_requested: false };
  return { name, policy: "first-come", leader: leader ?? null, candidates, history: [], ...more };
};

export const waits = (...edges: [from: string, to: string, lock: string][]): WaitsFor[] =>
  edges.map(([from, to, name]) => ({ from, to, lock: name }));

/** A cycle of these sessions, each waiting for the lock beside it. */
export function deadlock(waits: [session: string, lock: string][], aborted: string | null, at = SINCE): Deadlock {
  const cycle = waits.map(([name, wanted]) => ({ session: name, client: clientOf(name), lock: wanted, since: SINCE }));
  const text = cycle.map(({ session: one, client, lock: wanted }, place) =>
    `${one} (${client}) waits for '${wanted}' behind ${cycle[(place + 1) % cycle.length]?.session}`).join(", ");
  return { at, cycle, aborted, text };
}

export const coordination = (more: Partial<Coordination> = {}): Coordination =>
  ({ id: 1, coordinator: 3, term: 3, sequence: 41, sessions: [], roles: [], locks: [], deadlocks: [], waits: [], left_out: 0, ...more });

/** A working day: two roles, locks of all kinds, queues, and two that wait for each other. */
export function busy(): Coordination {
  return coordination({
    sessions: [
      session("s3.1", { holds: ["backup"], ttl_ms: 5_000 }),
      session("s3.2", { waits_for: ["backup"] }),
      session("s3.4", { leads: ["billing"], holds: ["ledger/2026"] }),
      session("s3.5", { campaigns_for: ["billing"], waits_for: ["backup", "upload-slots"] }),
      session("s3.7", { holds: ["schema"], waits_for: ["tables"], ttl_ms: 30_000 }),
      session("s3.8", { holds: ["upload-slots"], leads: ["mail"], ttl_ms: 1_500 }),
      session("s3.9", { holds: ["tables", "upload-slots", "ledger/2026"], waits_for: ["schema"] }),
    ],
    roles: [
      role("billing", [
        candidate("s3.4", { priority: 10, value: "10.0.0.4:9000", leads: true }),
        candidate("s3.5", { priority: 5, value: "10.0.0.5:9000" }),
      ], {
        policy: "preempt",
        history: [
          { at: SINCE, leader: "s3.4", token: 12_884_901_901, value: "10.0.0.4:9000", reason: "session s3.5 resigned" },
          { at: "2026-11-16T11:52:40Z", leader: "s3.5", token: 12_884_901_893, value: "10.0.0.5:9000", reason: "the first candidate" },
        ],
      }),
      role("mail", [candidate("s3.8", { value: "smtp-a", leads: true })], {
        leader: { session: "s3.8", client: clientOf("s3.8"), token: 12_884_901_899, value: "smtp-a", preempt_requested: false },
        history: [{ at: SINCE, leader: "s3.8", token: 12_884_901_899, value: "smtp-a", reason: "the first candidate" }],
      }),
      role("nightly", [], {
        history: [{ at: SINCE, leader: null, token: null, value: "", reason: "session s3.6: its process died" }],
      }),
    ],
    locks: [
      lock("backup", [holder("s3.1")], [waiter("s3.2"), waiter("s3.5", 1)]),
      lock("ledger/2026", [holder("s3.4", { mode: "shared", token: 12_884_901_921 }), holder("s3.9", { mode: "shared", token: 12_884_901_922 })]),
      lock("schema", [holder("s3.7", { token: 12_884_901_923 })], [waiter("s3.9")]),
      lock("tables", [holder("s3.9", { token: 12_884_901_924 })], [waiter("s3.7")]),
      lock("upload-slots", [
        holder("s3.8", { mode: "permits", permits: 2, token: 12_884_901_925 }),
        holder("s3.9", { mode: "permits", permits: 2, token: 12_884_901_926 }),
      ], [waiter("s3.5", 0, { mode: "permits", permits: 1 })], 4),
    ],
    deadlocks: [
      deadlock([["s3.9", "schema"], ["s3.7", "tables"]], null),
      deadlock([["s3.5", "backup"], ["s3.1", "ledger/2026"]], "s3.5", "2026-11-16T11:41:12Z"),
    ],
    waits: waits(
      ["s3.2", "s3.1", "backup"], ["s3.5", "s3.2", "backup"], ["s3.5", "s3.8", "upload-slots"], ["s3.5", "s3.9", "upload-slots"],
      ["s3.9", "s3.7", "schema"], ["s3.7", "s3.9", "tables"],
    ),
  });
}

/** Nothing but locks, many. */
export function crowd(locks: number): Coordination {
  const name = (index: number) => `job/${String(index).padStart(6, "0")}`;
  return coordination({
    sessions: [session("s3.1", { holds: Array.from({ length: locks }, (_, index) => name(index)) })],
    locks: Array.from({ length: locks }, (_, index) => lock(name(index), [holder("s3.1", { token: 12_884_901_888 + index })])),
  });
}
