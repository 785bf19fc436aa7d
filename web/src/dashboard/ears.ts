import type { Open, Stream } from "./stream";
import { Misunderstood, readMessages, type Messages } from "./wire";

/** A member whose stream broke is asked again after so long. */
export const AGAIN_AFTER_MS = 3_000;
/** More members than these are not listened to: a browser opens only a few connections. */
export const EARS_MAX = 16;

/** Listens to the messages of all members that live. */
export class Ears {
  #streams = new Map<number, Stream>();
  #deafUntil = new Map<number, number>();

  constructor(
    private readonly open: Open,
    private readonly heard: (messages: Messages) => void,
    /** Is told what was not understood. */
    private readonly trouble: (id: number, what: string) => void,
  ) {}

  /** Whether this member is listened to. */
  readonly hears = (id: number): boolean => this.#streams.has(id);

  /** Listens to these members and to no others. Called again and again, it goes on with who came back. */
  follow(members: readonly { id: number; origin: string }[]) {
    const wanted = new Map(members.slice(0, EARS_MAX).map((member) => [member.id, member.origin]));
    for (const [id, stream] of this.#streams) {
      if (wanted.has(id)) continue;
      stream.close();
      this.#streams.delete(id);
    }
    const now = performance.now();
    for (const [id, origin] of wanted) {
      if (!this.#streams.has(id) && (this.#deafUntil.get(id) ?? 0) <= now) this.#listen(id, origin);
    }
  }

  #listen(id: number, origin: string) {
    const end = () => {
      this.#streams.get(id)?.close();
      this.#streams.delete(id);
      this.#deafUntil.set(id, performance.now() + AGAIN_AFTER_MS);
    };
    const said = (text: string) => {
      if (!this.#streams.has(id)) return;
      try {
        this.heard(readMessages(text));
      } catch (error) {
        if (!(error instanceof Misunderstood)) throw error;
        end();
        this.trouble(id, error.message);
      }
    };
    this.#streams.set(id, this.open(`${origin}/v1/messages`, { said, broke: end }));
  }
}
