import { Relation, relationsOf } from "../../run/causality";
import type { Event } from "../../run/recording";
import { eventWords, processName, sentence } from "../../run/words";
import type { Stage } from "../stage";
import { useTrailing } from "../trail";

const MOST = 80;

/** The events in the order of their stamps, and how each stands to the one that is looked at. */
export function Stamps({ stage }: { stage: Stage }) {
  const step = useTrailing(stage);
  const kind = stage.stamps.value;
  if (kind === "none" || stage.veiled.value) return null;
  const { events } = stage.model;
  const looked = stage.lit.value ?? (step.happened > 0 ? step.happened - 1 : null);
  const relations = looked === null ? null : relationsOf(stage.model, looked);
  const stamped = [...events.keys()].filter((at) => at < step.happened && isStamped(events[at]!));
  const byStamp = stamped.sort((a, b) => events[a]!.lamport - events[b]!.lamport || events[a]!.node! - events[b]!.node!);
  const concurrent = relations && looked !== null ? stamped.filter((at) => relations[at] === Relation.none) : [];
  return (
    <section class="panel stamps-panel" aria-labelledby="stamps-title">
      <h2 id="stamps-title">{kind === "lamport" ? "The order that Lamport stamps give" : "What vector stamps say"}</h2>
      {looked !== null && (
        <p>
          <b>{sentence(events[looked]!)}</b> {stampWords(events[looked]!, kind, stage.model.header.nodes)}: concurrent with it{" "}
          {concurrent.length === 0 ? "is nothing so far." : `are ${concurrent.length} events so far.`}
          {kind === "lamport" && concurrent.length > 0 && " Lamport stamps put them in an order, too; they cannot show that it means nothing."}
        </p>
      )}
      <ol class="chips">
        {byStamp.slice(-MOST).map((at) => (
          <li key={at} class={`chip ${relations ? ["apart", "past", "future", "self"][relations[at]!] : ""}`} title={sentence(events[at]!)}>
            {kind === "lamport" ? `${events[at]!.lamport}.${processName(events[at]!.node!)}` : `${processName(events[at]!.node!)} ${vectorWords(events[at]!, stage.model.header.nodes)}`}
            <small>{short(events[at]!)}</small>
          </li>
        ))}
      </ol>
    </section>
  );
}

const isStamped = ({ event, node }: Event) => node != null && event !== "drop" && event !== "note";
const short = (event: Event) => (event.event === "send" ? "send" : event.event === "receive" ? "receive" : eventWords(event).slice(0, 14));

/** The stamp of an event, as it stands in the diagram. */
export function stampWords(event: Event, kind: "lamport" | "vector", nodes?: readonly number[]): string {
  return kind === "lamport" ? String(event.lamport) : vectorWords(event, nodes ?? Object.keys(event.vector).map(Number));
}

function vectorWords({ vector }: Event, nodes: readonly number[]): string {
  return `(${[...nodes].sort((a, b) => a - b).map((node) => vector[node] ?? 0).join(",")})`;
}
