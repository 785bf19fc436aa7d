import type { Schemas } from "../api/client";

type Exhibit = Schemas["Exhibit"];

/** Which runs of the gallery are shown. */
export interface Filter {
  family: string | null;
  algorithm: string | null;
  counterexamples: boolean;
}

/** What a link says about it. */
export function readFilter(params: URLSearchParams): Filter {
  return {
    family: params.get("family"),
    algorithm: params.get("algorithm"),
    counterexamples: params.get("only") === "counterexamples",
  };
}

/** The link that says it. */
export function filterLink(filter: Filter): string {
  const params = new URLSearchParams();
  if (filter.family) params.set("family", filter.family);
  if (filter.algorithm) params.set("algorithm", filter.algorithm);
  if (filter.counterexamples) params.set("only", "counterexamples");
  return params.size === 0 ? "/explore" : `/explore#${params}`;
}

/** The exhibits that pass. */
export function applyFilter(exhibits: Exhibit[], filter: Filter): Exhibit[] {
  return exhibits.filter(
    (exhibit) =>
      (filter.family === null || exhibit.family === filter.family) &&
      (filter.algorithm === null || exhibit.algorithm === filter.algorithm) &&
      (!filter.counterexamples || exhibit.counterexample),
  );
}

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
