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
          <h1>This page failed to load</h1>
          <p>The server does not answer, or it runs a newer version than this page. Reload the page.</p>
        </section>
      );
    }
    return (
      <p class="loading" role="status">
        Loading…
      </p>
    );
  };
}
