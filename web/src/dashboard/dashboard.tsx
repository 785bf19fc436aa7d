import { useEffect, useMemo } from "preact/hooks";
import { Announcer } from "./announcer";
import { Connection } from "./connection";
import { Controls } from "./controls";
import { Coordinator } from "./coordinator";
import { CoordinationPanels } from "./coordination/panels";
import { History } from "./history";
import { LiveMessages } from "./messages";
import { Members } from "./members";
import { NoCluster } from "./nocluster";
import { Room } from "./room";
import { Topology } from "./topology";
import "./dashboard.css";

/** The dashboard: a live cluster. */
export function Dashboard() {
  const room = useMemo(() => new Room(), []);
  useEffect(() => {
    room.enter();
    return () => room.leave();
  }, [room]);
  const glance = room.feed.value.glance;
  if (!glance) return <NoCluster room={room} />;
  return (
    <div class="dashboard">
      <h1>Cluster “{glance.status.cluster}”</h1>
      <Connection room={room} />
      <Announcer room={room} />
      <Coordinator room={room} />
      <Topology room={room} />
      {room.up.value && <Controls room={room} up={room.up.value} />}
      <Members room={room} />
      <CoordinationPanels room={room} />
      <History room={room} />
      <LiveMessages room={room} />
    </div>
  );
}
