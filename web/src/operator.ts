import { signal } from "@preact/signals";

/** Where the token is kept while the tab is open. */
const KEPT = "bellwether-operator";
const TOKEN = /^[0-9a-f]{32}$/i;

/** The operator token, which commands to a member or to `bellwether up` need; null if it is not known. */
export const operator = signal<string | null>(begin());

/** Takes it from the link, which `bellwether up` prints with it, or from before the page was loaded again. */
function begin(): string | null {
  const params = new URLSearchParams(location.hash.replace(/^#/, ""));
  const given = params.get("operator");
  if (given === null) return kept();
  // A link that is shared, or seen over a shoulder, must not carry it.
  params.delete("operator");
  const rest = params.toString();
  history.replaceState(null, "", location.pathname + location.search + (rest && `#${rest}`));
  return remember(given) ?? kept();
}

function kept(): string | null {
  try {
    return sessionStorage.getItem(KEPT);
  } catch {
    return null;
  }
}

function remember(text: string): string | null {
  const token = text.trim();
  if (!TOKEN.test(token)) return null;
  try {
    sessionStorage.setItem(KEPT, token);
  } catch {
    // It is known until the page is loaded again.
  }
  return token;
}

/** Takes what was typed; whether it can be a token. */
export function enter(text: string): boolean {
  const token = remember(text);
  if (token !== null) operator.value = token;
  return token !== null;
}

/** It turned out to be wrong. */
export function forget() {
  try {
    sessionStorage.removeItem(KEPT);
  } catch {
    // Then it was not kept either.
  }
  operator.value = null;
}

/** A link to another page of the same cluster, which is to know the token, too. */
export const withOperator = (url: string): string => (operator.value === null ? url : `${url}#operator=${operator.value}`);
