import { useSignal } from "@preact/signals";
import type { Room } from "./room";
import { OperatorToken } from "./token";
import type { Up } from "./wire";

/** `1,2 | 3,4,5` */
const shown = (sides: readonly (readonly number[])[]) => sides.map((side) => side.join(",")).join(" | ");

/** What can be done to the cluster as a whole, and what has been done. */
export function Controls({ room, up }: { room: Room; up: Up }) {
  const chosen = useSignal<ReadonlySet<number>>(new Set());
  const ids = up.members.map(({ id }) => id);
  const sides = [ids.filter((id) => chosen.value.has(id)), ids.filter((id) => !chosen.value.has(id))];
  const isSplit = sides.every((side) => side.length > 0);
  const toggle = (id: number) => {
    const next = new Set(chosen.value);
    if (!next.delete(id)) next.add(id);
    chosen.value = next;
  };
  const leads = room.feed.value.glance?.status.mandate != null;
  const done = room.done.value;
  return (
    <section class="panel break-it" aria-labelledby="break-it">
      <h2 id="break-it">Break it</h2>
      <OperatorToken />
      <fieldset>
        <legend>Partition: who is to be on one side?</legend>
        <div class="sides">
          {ids.map((id) => (
            <label key={id}>
              <input type="checkbox" checked={chosen.value.has(id)} onChange={() => toggle(id)} /> {id}
            </label>
          ))}
        </div>
        <div class="row">
          <button type="button" disabled={!isSplit} onClick={() => void room.order(`partition ${shown(sides).replaceAll(" ", "")}`)}>
            {isSplit ? `Partition ${shown(sides)}` : "Partition"}
          </button>
          <button type="button" disabled={up.partition.length === 0} onClick={() => void room.order("heal")}>Heal</button>
          <button type="button" disabled={!leads} onClick={() => void room.order("step-down")}>Hand over</button>
        </div>
      </fieldset>
      <p>{up.partition.length > 0 ? `Partition: ${shown(up.partition)}. Nothing passes between the sides.` : "Everybody reaches everybody."}</p>
      <p role="status" class={done?.ok === false ? "bad" : undefined}>{done?.text}</p>
      <h3 id="news">What has happened</h3>
      <ol class="news" tabIndex={0} aria-labelledby="news">
        {up.news.slice(-30).reverse().map(({ seq, at_ms, text }) => (
          <li key={seq}><time>{(at_ms / 1_000).toFixed(1)} s</time> {text}</li>
        ))}
      </ol>
    </section>
  );
}
