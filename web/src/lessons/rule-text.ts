import type { Schemas } from "../api/client";

/**
 * What a rule says. Events name cases of rules, such as R2a; where the catalogue has only the whole
 * rule, that is given.
 */
export function ruleText(id: string, rules: readonly Schemas["Rule"][]): string {
  const known = rules.find((rule) => rule.id === id) ?? rules.find((rule) => rule.id === id.replace(/[a-z]$/, ""));
  return known?.text ?? "";
}
