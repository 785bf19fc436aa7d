import { forget, operator } from "../operator";
import type { components } from "./explorer";

export type Schemas = components["schemas"];

/** Why the server did not do what it was asked for, or why there was no answer. */
export class ServerError extends Error {
  constructor(
    message: string,
    /** What to do about it. */
    readonly hint: string | null,
    /** The HTTP status; 0 if nobody answered. */
    readonly status: number,
    /** The word for programs, if there is one. */
    readonly code: string | null = null,
  ) {
    super(message);
  }
}

/** Commands something of the server that the page came from, as an operator. */
export async function command<T>(path: string, body: unknown): Promise<T> {
  try {
    return await ask<T>(path, body, undefined, operator.value);
  } catch (error) {
    if (error instanceof ServerError && error.code === "wrong-operator-token") forget();
    throw error;
  }
}

/** Asks the server that the page came from. */
export async function ask<T>(path: string, body?: unknown, signal?: AbortSignal, token: string | null = null): Promise<T> {
  const init: RequestInit = body === undefined ? {} : {
    method: "POST",
    headers: { "content-type": "application/json", ...(token !== null && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify(body),
  };
  if (signal) init.signal = signal;
  const answer = await fetch(path, init).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new ServerError("The server does not answer.", "Is the command that serves this page still running?", 0);
  });
  const said: unknown = await answer.json().catch(() => null);
  if (answer.ok && said !== null) return said as T;
  const problem = said as { error?: string; hint?: string | null; code?: string | null } | null;
  throw new ServerError(
    problem?.error ?? `The server answered ${answer.status} and nothing that makes sense.`,
    problem?.hint ?? null,
    answer.status,
    problem?.code ?? null,
  );
}

/** What can be chosen. */
export const fetchCatalogue = () => ask<Schemas["Catalogue"]>("/v1/explore/catalogue");
/** What is worth looking at. */
export const fetchGallery = () => ask<Schemas["Gallery"]>("/v1/explore/gallery");
/** Plays a scenario. */
export const fetchRun = (request: Schemas["RunRequest"], signal?: AbortSignal) =>
  ask<Schemas["Run"]>("/v1/explore/run", request, signal);
