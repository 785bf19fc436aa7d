import type { Header } from "../../run/recording";

/** Where the processes stand, and which of them are linked. */
export interface Layout {
  width: number;
  height: number;
  /** The radius of a process. */
  radius: number;
  spots: ReadonlyMap<number, Spot>;
  links: readonly Link[];
}

export interface Spot {
  x: number;
  y: number;
  /** Which way is out: where a name or a crown does not stand in the way of links. */
  outX: number;
  outY: number;
}

export type Link = readonly [number, number];

const WIDTH = 440;
/** As high as the room on a small screen: what is made smaller to fit cannot be read. Few processes get less of it. */
const HEIGHT = { few: 250, many: 330 };
/** Up to this number, processes are few. */
export const FEW = 3;
/** In a mesh of more processes than this, only the links in use are drawn. */
const MESH_MAX = 16;

/** Places the processes: on a circle in ring order, or as a tree. */
export function layTopology({ topology, nodes, tree }: Header): Layout {
  const isTree = topology === "tree" && tree !== undefined && tree.length > 0;
  const radius = Math.max(7, Math.min(24, 150 / Math.max(4, nodes.length) ** 0.75));
  const height = nodes.length > FEW ? HEIGHT.many : HEIGHT.few;
  if (isTree) {
    const links = tree.map(([parent, child]) => [parent!, child!] as const);
    return { width: WIDTH, height, radius, spots: growTree(nodes, links, radius, height), links };
  }
  return { width: WIDTH, height, radius, spots: standInCircle(nodes, radius, height), links: linksOf(topology, nodes) };
}

function linksOf(topology: string, nodes: readonly number[]): Link[] {
  if (nodes.length < 2) return [];
  if (topology === "ring" && nodes.length > 2) {
    return nodes.map((node, place) => [node, nodes[(place + 1) % nodes.length]!] as const);
  }
  if (nodes.length > MESH_MAX) return [];
  return nodes.flatMap((node, place) => nodes.slice(place + 1).map((other) => [node, other] as const));
}

function standInCircle(nodes: readonly number[], radius: number, height: number): Map<number, Spot> {
  // On top a line about cuts has room, below two lines about the lowest process.
  const [middleX, middleY] = [WIDTH / 2, height / 2 - 4];
  const [wide, high] = [WIDTH / 2 - radius - 42, height / 2 - radius - 36];
  if (nodes.length === 1) return new Map([[nodes[0]!, { x: middleX, y: middleY, outX: 0, outY: 1 }]]);
  // Two stand side by side, more begin at the top.
  const turn = nodes.length === 2 ? Math.PI : -Math.PI / 2;
  return new Map(
    nodes.map((node, place) => {
      const angle = turn + (2 * Math.PI * place) / nodes.length;
      const [outX, outY] = [Math.cos(angle), Math.sin(angle)];
      return [node, { x: middleX + wide * outX, y: middleY + high * outY, outX, outY }];
    }),
  );
}

/** The root on top; every process above the middle of its children. */
function growTree(nodes: readonly number[], links: readonly Link[], radius: number, height: number): Map<number, Spot> {
  const children = new Map<number, number[]>();
  for (const [parent, child] of links) children.set(parent, [...(children.get(parent) ?? []), child]);
  const isChild = new Set(links.map(([, child]) => child));
  const spots = new Map<number, { column: number; depth: number }>();
  let leaves = 0;
  const grow = (node: number, depth: number): number => {
    if (spots.has(node)) return spots.get(node)!.column; // a file may claim a circle
    spots.set(node, { column: 0, depth });
    const below = (children.get(node) ?? []).map((child) => grow(child, depth + 1));
    const column = below.length > 0 ? (below[0]! + below.at(-1)!) / 2 : leaves++;
    spots.set(node, { column, depth });
    return column;
  };
  for (const node of [...nodes.filter((node) => !isChild.has(node)), ...nodes]) if (!spots.has(node)) grow(node, 0);
  const depths = Math.max(...[...spots.values()].map(({ depth }) => depth), 1);
  const across = (WIDTH - 2 * (radius + 22)) / Math.max(1, leaves - 1);
  const down = (height - 2 * radius - 74) / depths;
  return new Map(
    [...spots].map(([node, { column, depth }]) => {
      const x = leaves > 1 ? radius + 22 + column * across : WIDTH / 2;
      return [node, { x, y: radius + 34 + depth * down, outX: 0, outY: depth === 0 ? -1 : 1 }];
    }),
  );
}
