import { clock, perSecond } from "./format";
import type { Room } from "./room";
import type { Rate } from "./traffic";

/** A table of all pairs is readable up to this number of members; beyond, the busiest pairs are listed. */
const TABLE_MAX = 9;
const PAIRS_SHOWN = 12;
const LINES_SHOWN = 12;

/** Who talks to whom, how often, and what is said besides heartbeats. */
export function LiveMessages({ room }: { room: Room }) {
  room.pulse.value; // shown again with every pulse
  const { glance } = room.feed.value;
  if (!glance) return null;
  const now = performance.now();
  const { traffic } = room;
  const pairs = traffic.pairs(now);
  const kinds = [...traffic.kinds(now)].sort((one, other) => other[1].perSecond - one[1].perSecond);
  const ids = glance.members.map(({ id }) => id);
  return (
    <section class="panel live" aria-labelledby="live">
      <h2 id="live">Live messages</h2>
      <p class="kinds">
        {kinds.length === 0 && "No messages in the last seconds."}
        {kinds.map(([kind, { perSecond: value }]) => <span key={kind}><span class="mono">{kind}</span> {perSecond(value)}</span>)}
      </p>
      {ids.length <= TABLE_MAX ? <PairTable ids={ids} pairs={pairs} /> : <PairList pairs={pairs} />}
      <h3>Besides heartbeats</h3>
      {traffic.notable.length === 0 && <p>Nothing yet: no election since this page was opened.</p>}
      <ol class="lines">
        {traffic.notable.slice(0, LINES_SHOWN).map((message) => (
          <li key={message.number}>
            <time dateTime={message.at}>{clock(message.at)}</time>{" "}
            <span class="mono">P{message.from} → P{message.to} {message.text}</span>
            {message.count > 1 && ` ×${message.count}`}{message.cut && <strong class="bad"> cut off</strong>}
          </li>
        ))}
      </ol>
    </section>
  );
}

function PairTable({ ids, pairs }: { ids: number[]; pairs: Map<string, Rate> }) {
  return (
    <table class="pairs">
      <caption>Messages a second, from (left) to (top)</caption>
      <thead><tr><td />{ids.map((to) => <th key={to} scope="col">P{to}</th>)}</tr></thead>
      <tbody>
        {ids.map((from) => (
          <tr key={from}>
            <th scope="row">P{from}</th>
            {ids.map((to) => {
              const rate = pairs.get(`${from}>${to}`);
              return <td key={to} title={rate?.kinds.join(", ")}>{rate ? perSecond(rate.perSecond).replace("/s", "") : from === to ? "" : "·"}</td>;
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function PairList({ pairs }: { pairs: Map<string, Rate> }) {
  const busiest = [...pairs].sort((one, other) => other[1].perSecond - one[1].perSecond).slice(0, PAIRS_SHOWN);
  return (
    <ol class="lines">
      {busiest.map(([pair, { perSecond: value, kinds }]) => (
        <li key={pair}><span class="mono">P{pair.replace(">", " → P")}</span> {perSecond(value)} {kinds.join(", ")}</li>
      ))}
    </ol>
  );
}
