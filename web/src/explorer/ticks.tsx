import { useMemo } from "preact/hooks";
import type { Model } from "../run/model";
import type { MomentKind } from "../run/moments";

/** What is told apart below the slider: by height as well as by colour. */
const LOOKS: Partial<Record<MomentKind, string>> = {
  coordinator: "crown",
  agreement: "crown",
  election: "start",
  section: "section",
  fault: "fault",
  network: "fault",
  violation: "violation",
};

/** Marks below the slider: the moments worth a stop. */
export function Ticks({ model }: { model: Model }) {
  const paths = useMemo(() => {
    const byLook = new Map<string, Set<number>>();
    for (const { step, kind } of model.moments) {
      const look = LOOKS[kind] ?? "said";
      // More than one in a thousandth of the width cannot be told apart.
      byLook.set(look, (byLook.get(look) ?? new Set()).add(Math.round((1000 * step) / Math.max(1, model.last))));
    }
    return [...byLook].map(([look, at]) => ({ look, path: [...at].map((x) => `M${x} 0v8`).join("") }));
  }, [model]);
  return (
    <svg class="ticks" viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true">
      {paths.map(({ look, path }) => <path key={look} class={look} d={path} />)}
    </svg>
  );
}
