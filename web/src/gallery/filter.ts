import type { Schemas } from "../api/client";
import { EXPLORE } from "../where";

type Exhibit = Schemas["Exhibit"];

/** Which runs of the gallery are shown. */
export interface Filter {
  family: string | null;
  algorithm: string | null;
  only: Only | null;
  /** Every one of these words is in what a card says; empty for all. */
  words: string;
}

/** Which runs a filter keeps: those that end in a violation, or those that the checker found. */
export type Only = "violations" | "counterexamples";

/** What a link says about it. */
export function readFilter(params: URLSearchParams): Filter {
  const only = params.get("only");
  return {
    family: params.get("family"),
    algorithm: params.get("algorithm"),
    only: only === "violations" || only === "counterexamples" ? only : null,
    words: params.get("find") ?? "",
  };
}

/** The link that says it. */
export function filterLink(filter: Filter): string {
  const params = new URLSearchParams();
  if (filter.family) params.set("family", filter.family);
  if (filter.algorithm) params.set("algorithm", filter.algorithm);
  if (filter.only) params.set("only", filter.only);
  if (filter.words.trim()) params.set("find", filter.words);
  return params.size === 0 ? EXPLORE : `${EXPLORE}#${params}`;
}

/** Whether a run ends in a violation: its scenario says so, and is tested. */
export const isViolated = ({ scenario }: Exhibit) => /^expect violation (?!none\b)/m.test(scenario);

/** The exhibits that pass. The catalogue has the names that are shown instead of ids. */
export function applyFilter(exhibits: Exhibit[], filter: Filter, catalogue: Schemas["Catalogue"] | null): Exhibit[] {
  const words = plain(filter.words).split(/\s+/).filter(Boolean);
  return exhibits.filter(
    (exhibit) =>
      (filter.family === null || exhibit.family === filter.family) &&
      (filter.algorithm === null || exhibit.algorithm === filter.algorithm) &&
      (filter.only !== "counterexamples" || exhibit.counterexample) &&
      (filter.only !== "violations" || isViolated(exhibit)) &&
      (words.length === 0 || hasAll(textOf(exhibit, catalogue), words)),
  );
}

const hasAll = (text: string, words: readonly string[]) => words.every((word) => text.includes(word));

/** All that a card says, and its ids. */
function textOf({ id, title, look, algorithm, family }: Exhibit, catalogue: Schemas["Catalogue"] | null): string {
  const group = catalogue?.families.find(({ name }) => name === family)?.title ?? "";
  return plain([id, title, look, titleOf(algorithm, catalogue), algorithm, family, group].join(" "));
}

/** Without what a person does not think of when typing: capitals, and one kind of apostrophe or hyphen for another. */
const plain = (text: string) => text.toLowerCase().replace(/[’‘]/g, "'").replace(/[‐–—]/g, "-");

/** What an algorithm is called. */
export const titleOf = (name: string, catalogue: Schemas["Catalogue"] | null) =>
  catalogue?.algorithms.find((algorithm) => algorithm.name === name)?.title ?? name;

/** A family with its exhibits. */
export interface Group {
  name: string;
  title: string;
  about: string;
  exhibits: Exhibit[];
}

/** Exhibits by family, in the catalogue's order or, while that is not known, in their own. */
export function grouped(exhibits: Exhibit[], catalogue: Schemas["Catalogue"] | null): Group[] {
  const families = catalogue?.families ?? [];
  const names = new Set([...families.map((family) => family.name), ...exhibits.map((exhibit) => exhibit.family)]);
  return [...names].flatMap((name) => {
    const family = families.find((known) => known.name === name);
    const members = exhibits.filter((exhibit) => exhibit.family === name);
    return members.length === 0
      ? []
      : [{ name, title: family?.title ?? name, about: family?.about ?? "", exhibits: members }];
  });
}
