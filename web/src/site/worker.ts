import { ExplorerModule } from "./module";

/** A request of the page. */
export interface Asked {
  path: string;
  body: string;
}

/** The part of a worker's scope that is used here; the page's own types do not have it. */
interface Scope {
  onmessage: (event: MessageEvent<Asked>) => void;
  postMessage(message: unknown, transfer: Transferable[]): void;
}

const scope = self as unknown as Scope;

const explorer = load().then((module) => new ExplorerModule(module));

async function load(): Promise<WebAssembly.Module> {
  const scripts = import.meta.url;
  const answer = await fetch(new URL(__BELLWETHER_MODULE__, scripts));
  if (!answer.ok) throw new Error(`${answer.url}: ${answer.status} ${answer.statusText}`);
  const typed = answer.headers.get("content-type")?.startsWith("application/wasm");
  // Not all hosts know what the file is; without its type it cannot be compiled while it arrives.
  return typed ? WebAssembly.compileStreaming(answer) : WebAssembly.compile(await answer.arrayBuffer());
}

scope.onmessage = async ({ data: { path, body } }) => {
  try {
    const { status, body: said } = (await explorer).answer(path, body);
    scope.postMessage({ status, body: said }, [said.buffer]);
  } catch (error) {
    // Without the module there is nothing else to try.
    scope.postMessage({ status: 0, error: String(error) }, []);
  }
};
