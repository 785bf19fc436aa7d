import { effect, signal } from "@preact/signals";

type Theme = "system" | "light" | "dark";
const KEY = "bellwether-theme";

function remembered(): Theme {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === "light" || kept === "dark" ? kept : "system";
  } catch {
    return "system"; // storage may be forbidden
  }
}

/** Which colours the viewer wants. */
export const theme = signal<Theme>(remembered());

/** From the system's choice to light, to dark and back. */
export function nextTheme() {
  theme.value = theme.value === "system" ? "light" : theme.value === "light" ? "dark" : "system";
}

effect(() => {
  if (theme.value === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme.value;
  try {
    localStorage.setItem(KEY, theme.value);
  } catch {
    // then it is not remembered
  }
});
