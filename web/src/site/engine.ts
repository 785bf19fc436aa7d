import type { Asked } from "./worker";

/** How long a run may be computed, as on a server. Usual ones take milliseconds. */
const COMPUTED_FOR_MS = 10_000;

/** What a server would have answered; status 0 if there is no answer at all. */
export interface EngineReply {
  status: number;
  said: unknown;
}

/** The explorer in a worker, so that the page moves while a run is computed. One request at a time. */
let worker: Worker | null = null;
let last: Promise<unknown> = Promise.resolve();

/** Fetches and compiles the module already, while the page is still being loaded. */
export function warmUp() {
  worker ??= start();
}

const start = () => new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });

/** Asks the explorer in this browser, where other pages ask a server. */
export function askEngine(path: string, body: unknown, signal?: AbortSignal): Promise<EngineReply> {
  const asked = { path, body: body === undefined ? "" : JSON.stringify(body) };
  const answer = last.then(() => {
    signal?.throwIfAborted();
    return compute(asked);
  });
  last = answer.catch(() => undefined);
  return answer;
}

/** The files that `make site` has written beside the page. */
export async function fetchWritten(path: string): Promise<EngineReply> {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const scripts = import.meta.url; // named first: the build would take the pattern for a file of the sources
  const answer = await fetch(new URL(`../${name}.json`, scripts));
  return { status: answer.status, said: await answer.json().catch(() => null) };
}

function compute(asked: Asked): Promise<EngineReply> {
  const mine = (worker ??= start());
  return new Promise((done) => {
    const end = (said: EngineReply, again = false) => {
      clearTimeout(timer);
      mine.onmessage = mine.onerror = null;
      if (again) {
        mine.terminate();
        worker = null;
      }
      done(said);
    };
    const problem = (error: string, hint: string) => ({ error, hint });
    const reload = "Reload the page. If that does not help, the site is not complete: make it again with `make site`.";
    const shorter = "let it `run until=` an earlier time, take fewer processes, or longer time-outs and intervals";
    // It cannot be interrupted from inside: it is one computation.
    const timer = setTimeout(
      () => end({ status: 422, said: problem("the run takes too long to compute", shorter) }, true),
      COMPUTED_FOR_MS,
    );
    mine.onmessage = ({ data }: MessageEvent<{ status: number; body?: Uint8Array; error?: string }>) => {
      if (data.body) end({ status: data.status, said: JSON.parse(new TextDecoder().decode(data.body)) });
      else end({ status: 500, said: problem(`The simulator cannot be loaded: ${data.error}`, reload) }, true);
    };
    mine.onerror = ({ message }) => end({ status: 500, said: problem(`The simulator failed: ${message}`, reload) }, true);
    mine.postMessage(asked);
  });
}
