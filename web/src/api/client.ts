import { forget, operator } from "../operator";
import type { components } from "./explorer";

export type Schemas = components["schemas"];

/** Why the server did not do what it was asked for, or why there was no answer. */
export class ServerError extends Error {
  constructor(
    message: string,
    /** What to do about it. */
    readonly hint: string | null,
    /** The HTTP status; 0 if there was no answer. */
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
  return taken<T>(answer.status, await answer.json().catch(() => null));
}

/** What was asked for, or an error that says why not. */
function taken<T>(status: number, said: unknown): T {
  if (status >= 200 && status < 300 && said !== null) return said as T;
  const problem = said as { error?: string; hint?: string | null; code?: string | null } | null;
  throw new ServerError(
    problem?.error ?? `The server answered ${status} and nothing that makes sense.`,
    problem?.hint ?? null,
    status,
    problem?.code ?? null,
  );
}

/** Asks for something of the explorer: the server, or where there is none the module in this browser. */
async function explore<T>(path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  if (!__BELLWETHER_SITE__) return ask<T>(path, body, signal);
  const { askEngine, fetchWritten } = await import("../site/engine");
  const { status, said } = await (body === undefined ? fetchWritten(path) : askEngine(path, body, signal));
  return taken<T>(status, said);
}

/** What can be chosen. */
export const fetchCatalogue = () => explore<Schemas["Catalogue"]>("/v1/explore/catalogue");
/** What is worth looking at. */
export const fetchGallery = () => explore<Schemas["Gallery"]>("/v1/explore/gallery");
/** What could happen next at a moment of a scenario's run. */
export const fetchNext = (request: Schemas["NextRequest"], signal?: AbortSignal) =>
  explore<Schemas["Next"]>("/v1/explore/next", request, signal);
/** What could go wrong from a moment of a scenario's run on. */
export const fetchWrong = (request: Schemas["NextRequest"], signal?: AbortSignal) =>
  explore<Schemas["Wrong"]>("/v1/explore/wrong", request, signal);
/** Plays a scenario. */
export const fetchRun = (request: Schemas["RunRequest"], signal?: AbortSignal) =>
  explore<Schemas["Run"]>("/v1/explore/run", request, signal);
