import { fetchCatalogue, fetchGallery, fetchRun, ServerError, type Schemas } from "../api/client";
import { rewrite } from "../place";
import { readLink, type Source } from "../run/links";
import { fileProblems, openedFiles } from "../run/open";
import type { Recording } from "../run/recording";
import { readTrace, TraceError } from "../run/trace";
import { Session } from "./session";

/** Why there is nothing to show, and what to do about it. */
export class CannotShow extends Error {
  constructor(
    message: string,
    readonly hint: string,
    /** Whether the same may work later. */
    readonly retry: boolean,
    /** Runs of the gallery that may have been meant. */
    readonly similar: readonly Schemas["Exhibit"][] = [],
    /** The scenario that is to be corrected. */
    readonly scenario: string | null = null,
  ) {
    super(message);
  }
}

/** All that the explorer shows. */
export interface Loaded {
  session: Session;
  exhibit: Schemas["Exhibit"] | null;
  /** Null if the catalogue does not have it, or is not there. */
  algorithm: Schemas["Algorithm"] | null;
  /** What was wrong with the link or the file. The rest is shown. */
  problems: string[];
}

/** Finds and plays what a link speaks of. */
export async function load(params: URLSearchParams): Promise<Loaded> {
  const { link, problems } = await readLink(params);
  const { source } = link;
  if (!source) throw new CannotShow(problems[0] ?? "There is nothing to show.", "Choose a run in the gallery.", false);
  const catalogue = fetchCatalogue().catch((error: Error) => {
    problems.push(`Rules and requests are missing because the catalogue failed to load: ${error.message}`);
    return null;
  });
  const { recording, exhibit } = await find(source, problems);
  const session = await Session.open(source, recording, link, rewrite);
  const { last } = session.stage.model;
  if (link.run === 0 && link.at > last) problems.push(`The link says at=${link.at}, but the run has only ${last} steps.`);
  await session.regrow(link.branches, link, problems);
  const algorithms = (await catalogue)?.algorithms ?? [];
  const algorithm = algorithms.find(({ name }) => name === recording.header.algorithm) ?? null;
  return { session, exhibit, algorithm, problems };
}

async function find(source: Source, problems: string[]): Promise<{ recording: Recording; exhibit: Loaded["exhibit"] }> {
  if ("file" in source) {
    const recording = openedFiles.get(source.file);
    const hint = "Open the file again from the gallery. A long trace does not fit into a link.";
    if (!recording) throw new CannotShow(`The file ${source.file} is not open in this window.`, hint, false);
    const problem = fileProblems.get(recording);
    if (problem) problems.push(problem);
    return { recording, exhibit: null };
  }
  if ("trace" in source) return { recording: unfold(source.trace, problems), exhibit: null };
  const exhibit = "exhibit" in source ? await findExhibit(source.exhibit) : null;
  const scenario = "scenario" in source ? source.scenario : exhibit!.scenario;
  return { recording: await play(scenario), exhibit };
}

function unfold(text: string, problems: string[]): Recording {
  try {
    const { recording, problem } = readTrace(text);
    if (problem) problems.push(problem);
    return recording;
  } catch (error) {
    if (!(error instanceof TraceError)) throw error;
    throw new CannotShow(error.message, "Ask the sender of the link for the file.", false);
  }
}

async function findExhibit(id: string): Promise<Schemas["Exhibit"]> {
  const { exhibits } = await fetchGallery().catch(gone);
  const exhibit = exhibits.find((one) => one.id === id);
  if (exhibit) return exhibit;
  const words = id.split("-").filter((word) => word.length > 2);
  const shared = ({ id: other }: Schemas["Exhibit"]) => words.filter((word) => other.includes(word)).length;
  const similar = exhibits.filter((one) => shared(one) > 0).sort((a, b) => shared(b) - shared(a)).slice(0, 5);
  throw new CannotShow(`The gallery has no run called ${id}.`, "Choose another run.", false, similar);
}

async function play(scenario: string): Promise<Recording> {
  try {
    return await fetchRun({ scenario });
  } catch (error) {
    if (!(error instanceof ServerError) || error.status === 0 || error.status >= 500) return gone(error);
    const hint = error.hint ?? "Correct the scenario below and run it again.";
    throw new CannotShow(error.message, hint, false, [], scenario);
  }
}

function gone(error: unknown): never {
  if (error instanceof ServerError) throw new CannotShow(error.message, error.hint ?? "Try again in a moment.", true);
  throw error;
}
