import { signal } from "@preact/signals";
import type { ComponentType } from "preact";

/** A part of the page whose code is fetched when it is first shown. */
export function lazy(load: () => Promise<ComponentType>) {
  const part = signal<ComponentType | null>(null);
  const failed = signal<Error | null>(null);
  let asked = false;

  function fetchPart() {
    asked = true;
    load().then(
      (found) => (part.value = found),
      (error: unknown) => {
        asked = false; // so that the room can be tried again
        failed.value = error instanceof Error ? error : new Error(String(error));
      },
    );
  }

  return function Lazy() {
    if (!asked) fetchPart();
    const Part = part.value;
    if (Part) return <Part />;
    if (failed.value) {
      return (
        <section class="notice" role="alert">
          <h1>This part of the page could not be loaded</h1>
          <p>The server may have gone, or is a newer one than this page. Reload the page when it is back.</p>
        </section>
      );
    }
    return (
      <p class="loading" role="status">
        One moment…
      </p>
    );
  };
}
