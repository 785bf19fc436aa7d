import type { Coordination, WaitsFor } from "./types";

/** A session that waits, or that others wait for. */
export interface Node {
  session: string;
  client: string;
  /** Whether it waits for itself in the end. */
  inCycle: boolean;
}

/** One waits for another, for the sake of these locks. */
export interface Edge {
  from: string;
  to: string;
  locks: string[];
  inCycle: boolean;
}

/** Who waits for whom. Nodes are in the order of their sessions, edges in that of their nodes. */
export interface Graph {
  nodes: Node[];
  edges: Edge[];
}

/** A picture of more sessions than these is not readable. */
export const NODES_MAX = 30;

/** Sessions in the order in which they began: `s3.9` is before `s3.17`. */
export function bySession(one: string, other: string): number {
  const [a, b] = [one, other].map((session) => /^s(\d+)\.(\d+)$/.exec(session));
  if (!a || !b) return one < other ? -1 : one > other ? 1 : 0;
  return Number(a[1]) - Number(b[1]) || Number(a[2]) - Number(b[2]);
}

/** What clients call themselves, by session. */
export function namesOf(coordination: Coordination): Map<string, string> {
  const names = new Map(coordination.sessions.map(({ session, client }) => [session, client]));
  // A member that leaves sessions out may still name them where they wait.
  for (const { holders, queue } of coordination.locks) {
    for (const { session, client } of holders) names.set(session, client);
    for (const { session, client } of queue) names.set(session, client);
  }
  return names;
}

/** The graph of these waits. */
export function graphOf(waits: readonly WaitsFor[], names: ReadonlyMap<string, string>): Graph {
  const edges = new Map<string, Edge>();
  for (const { from, to, lock } of waits) {
    const key = `${from} ${to}`;
    const known = edges.get(key);
    if (!known) edges.set(key, { from, to, locks: [lock], inCycle: false });
    else if (!known.locks.includes(lock)) known.locks.push(lock);
  }
  const sessions = [...new Set(waits.flatMap(({ from, to }) => [from, to]))].sort(bySession);
  const groups = knots(sessions, edges.values());
  const sizes = new Map<number, number>();
  for (const group of groups.values()) sizes.set(group, (sizes.get(group) ?? 0) + 1);
  const place = new Map(sessions.map((session, index) => [session, index]));
  const order = (session: string) => place.get(session) ?? 0;
  return {
    nodes: sessions.map((session) => ({
      session,
      client: names.get(session) ?? "",
      inCycle: (sizes.get(groups.get(session) ?? -1) ?? 0) > 1,
    })),
    edges: [...edges.values()]
      .map((edge) => ({ ...edge, inCycle: groups.get(edge.from) === groups.get(edge.to) }))
      .sort((one, other) => order(one.from) - order(other.from) || order(one.to) - order(other.to)),
  };
}

/** The list under this key, which may be a new one. */
export function listed<K, V>(lists: Map<K, V[]>, key: K): V[] {
  const known = lists.get(key) ?? [];
  lists.set(key, known);
  return known;
}

/** Whom each one waits for. */
export function successors(edges: Iterable<Edge>): Map<string, string[]> {
  const next = new Map<string, string[]>();
  for (const { from, to } of edges) listed(next, from).push(to);
  return next;
}

/**
 * The knots that sessions are in: those in one reach each other (Tarjan's strongly connected
 * components). Groups are numbered so that a session that is waited for has a smaller number. A queue may be
 * thousands long, so this does not call itself.
 */
export function knots(sessions: readonly string[], edges: Iterable<Edge>): Map<string, number> {
  const next = successors(edges);
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const group = new Map<string, number>();
  const open: string[] = [];
  let groups = 0;
  for (const root of sessions) {
    if (index.has(root)) continue;
    const path = [{ session: root, at: 0 }];
    while (path.length > 0) {
      const step = path[path.length - 1] as { session: string; at: number };
      const { session } = step;
      if (step.at === 0) {
        index.set(session, index.size);
        low.set(session, index.get(session) ?? 0);
        open.push(session);
      }
      const other = next.get(session)?.[step.at];
      step.at += 1;
      if (other !== undefined) {
        if (!index.has(other)) path.push({ session: other, at: 0 });
        else if (!group.has(other)) low.set(session, Math.min(low.get(session) ?? 0, index.get(other) ?? 0));
        continue;
      }
      if (low.get(session) === index.get(session)) {
        for (let last = open.pop(); last !== undefined; last = open.pop()) {
          group.set(last, groups);
          if (last === session) break;
        }
        groups += 1;
      }
      path.pop();
      const before = path[path.length - 1];
      if (before) low.set(before.session, Math.min(low.get(before.session) ?? 0, low.get(session) ?? 0));
    }
  }
  return group;
}

/**
 * As much of a graph as a picture can show: those in circles and those with the most edges, and
 * from each of them on those around it. Also says how many are left out.
 */
export function entangled(graph: Graph, max = NODES_MAX): { graph: Graph; left: number } {
  const left = graph.nodes.length - max;
  if (left <= 0) return { graph, left: 0 };
  const around = new Map<string, string[]>();
  for (const { from, to } of graph.edges) {
    listed(around, from).push(to);
    listed(around, to).push(from);
  }
  const rank = ({ inCycle, session }: Node) => (inCycle ? graph.nodes.length : 0) + (around.get(session)?.length ?? 0);
  const ranked = [...graph.nodes].sort((one, other) => rank(other) - rank(one) || bySession(one.session, other.session));
  const place = new Map(ranked.map(({ session }, index) => [session, index]));
  const order = (session: string) => place.get(session) ?? 0;
  const chosen = new Set<string>();
  for (const { session: seed } of ranked) {
    // In waves from the seed, so that what is shown hangs together.
    const wave = [seed];
    for (let at = 0; at < wave.length && chosen.size < max; at++) {
      const session = wave[at] as string;
      if (chosen.has(session)) continue;
      chosen.add(session);
      wave.push(...[...(around.get(session) ?? [])].sort((one, other) => order(one) - order(other)));
    }
    if (chosen.size >= max) break;
  }
  const shown: Graph = {
    nodes: graph.nodes.filter(({ session }) => chosen.has(session)),
    edges: graph.edges.filter(({ from, to }) => chosen.has(from) && chosen.has(to)),
  };
  return { graph: shown, left };
}
