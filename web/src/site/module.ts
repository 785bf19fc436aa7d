/** What the module of crates/wasm exports. */
interface Exports {
  memory: WebAssembly.Memory;
  room(bytes: number): number;
  ask(): number;
  answer(): number;
  answer_len(): number;
}

/** An answer as a server would send it: JSON, with one of HTTP's numbers for how it went. */
export interface Answer {
  status: number;
  body: Uint8Array<ArrayBuffer>;
}

/** The explorer as a WebAssembly module: it answers what `bellwether explore` answers, with the same bytes. */
export class ExplorerModule {
  #instance: Exports | null = null;

  constructor(private readonly module: WebAssembly.Module) {}

  /** Answers a request. After a panic it says what happened, and the next request gets a new instance. */
  answer(path: string, body: string): Answer {
    const exports = (this.#instance ??= new WebAssembly.Instance(this.module).exports as unknown as Exports);
    try {
      const request = new TextEncoder().encode(`${path}\n${body}`);
      const room = exports.room(request.length);
      new Uint8Array(exports.memory.buffer).set(request, room);
      const status = exports.ask();
      return { status, body: said(exports) };
    } catch (error) {
      this.#instance = null;
      return panicked(exports, error);
    }
  }
}

/** A copy: the module's memory is used again. */
function said(exports: Exports): Uint8Array<ArrayBuffer> {
  const at = exports.answer();
  return new Uint8Array(exports.memory.buffer.slice(at, at + exports.answer_len()));
}

function panicked(exports: Exports, error: unknown): Answer {
  let why = String(error);
  try {
    why = new TextDecoder().decode(said(exports)) || why;
  } catch {
    // What the browser says is all that is known.
  }
  const hint = "This is a mistake of ours: please report it with the scenario. Other runs still work.";
  return { status: 500, body: new TextEncoder().encode(JSON.stringify({ error: `the run failed: ${why}`, hint })) };
}
