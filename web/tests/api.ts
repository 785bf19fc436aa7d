import type { components } from "../src/api/explorer";

type Schemas = components["schemas"];

/** The textbooks' first example. */
export const BULLY = "bully-p1-to-p4";

async function json<T>(answer: Promise<Response>): Promise<T> {
  return (await (await answer).json()) as T;
}

/** The gallery as the server has it, or the static site, without the page. */
export const gallery = (server: string, site = false) =>
  json<Schemas["Gallery"]>(fetch(site ? `${server}/gallery.json` : `${server}/v1/explore/gallery`));

/** Plays a scenario without the page. */
export const run = (server: string, request: { scenario: string }) =>
  json<Schemas["Run"]>(fetch(`${server}/v1/explore/run`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
  }));

/** A run of the gallery, played without the page. */
export async function exhibit(server: string, id: string): Promise<Schemas["Run"]> {
  const { exhibits } = await gallery(server);
  const found = exhibits.find((one) => one.id === id);
  if (!found) throw new Error(`The gallery has no ${id}`);
  return run(server, { scenario: found.scenario });
}
