import { computed, signal } from "@preact/signals";
import { theme } from "../../theme";
import { DARK, LIGHT } from "./colours";

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(prefersDark.matches);
prefersDark.addEventListener("change", () => (systemDark.value = prefersDark.matches));

/** The colours that go with the page as it is. */
export const palette = computed(() => {
  const dark = theme.value === "dark" || (theme.value === "system" && systemDark.value);
  return dark ? DARK : LIGHT;
});
