import type { Room } from "./room";

/** What to say while there is no cluster to be seen. */
export function NoCluster({ room }: { room: Room }) {
  const host = room.host.value;
  if (host === "explore") {
    return (
      <section class="no-cluster panel">
        <h1>No cluster here</h1>
        <p>
          This page came from a server without a cluster, such as <code>bellwether explore</code>. The
          explorer works; this page has nothing to show.
        </p>
        <p>Start five members on this machine, and open the address that it prints:</p>
        <pre><code>bellwether up</code></pre>
        <p>
          Every member of a cluster of your own, started with <code>bellwether node</code>, has this room
          at its HTTP address, too.
        </p>
      </section>
    );
  }
  const troubles = [...room.feed.value.troubles, ...room.troubles.value];
  return (
    <section class="no-cluster panel" role="status">
      <h1>{host === "gone" ? "The cluster does not answer" : "Looking for the cluster"}</h1>
      {host === "gone" && <p>The server of this page has ended or cannot be reached. It is tried again every second.</p>}
      {room.feed.value.phase === "lost" && <p>No member answers. They are tried again every second.</p>}
      {troubles.map(([who, what]) => (
        <p key={who}>{who} says something that this page does not understand: {what}.</p>
      ))}
    </section>
  );
}
