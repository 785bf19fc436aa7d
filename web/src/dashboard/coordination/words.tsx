import type { ComponentChildren } from "preact";
import { count, moment } from "../format";
import type { Some } from "./find";
import type { Lock, Mode, Policy, Role } from "./types";

/** A client, by what it calls itself and by its session. */
export function Client({ client, session }: { client: string; session: string }) {
  return <span class="client">{client && <strong>{client} </strong>}<span class="mono">{session}</span></span>;
}

/** The same where there can be no elements. */
export const clientWords = (client: string, session: string): string => (client ? `${client} (${session})` : session);

/** When something was, with all of it on demand. */
export function When({ at }: { at: string }) {
  return <time dateTime={at} title={at}>{moment(at)}</time>;
}

/** How to begin. */
export function Begin({ children, command }: { children: ComponentChildren; command: string }) {
  return (
    <div class="begin">
      <p>{children}</p>
      <pre tabIndex={0} aria-label="Command"><code>{command}</code></pre>
    </div>
  );
}

/** That there is more than is shown. */
export function More<T>({ some: { shown, more }, of }: { some: Some<T>; of: string }) {
  if (more === 0) return null;
  return (
    <p class="more">
      The first {shown.length} of {count(shown.length + more, of)} are shown. Type a part of a name above to find others.
    </p>
  );
}

const POLICIES: Record<Policy, string> = {
  "first-come": "first come",
  priority: "by priority, a leader stays",
  preempt: "by priority, a leader yields",
};
/** How a role is filled; a policy of a later version by its own name. */
export const policyWords = (policy: Policy): string => POLICIES[policy] ?? policy;

/** What kind of lock it is, and how much of it is taken. */
export function kindOf({ permits, taken, holders }: Lock): string {
  if (permits != null) return `semaphore, ${taken} of ${permits} taken`;
  if (holders.length === 0) return "free";
  return holders.every(({ mode }) => mode === "shared") ? "shared" : "exclusive";
}

/** How a session holds a lock or asks for it, unless exclusively. */
export function modeWords({ mode, permits }: { mode: Mode; permits: number }): string | null {
  if (mode === "permits") return count(permits, "permit");
  return mode === "exclusive" ? null : mode;
}

/** The candidates in the order in which they lead or would lead: the leader, then the next one. */
export function inTurn({ candidates, policy }: Role): Role["candidates"] {
  const rank = ({ leads, priority }: Role["candidates"][number]) =>
    [leads ? 1 : 0, policy === "first-come" ? 0 : priority] as const;
  return [...candidates].sort((one, other) => {
    const [[a, b], [c, d]] = [rank(one), rank(other)];
    return c - a || d - b;
  });
}
