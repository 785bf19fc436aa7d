import { useSignal, useSignalEffect } from "@preact/signals";
import type { Room } from "./room";
import type { Status } from "./wire";

/** The coordinator, in a sentence that changes only when the coordinator does. */
export function verdict(status: Status): string {
  const { mandate, why_no_mandate } = status;
  if (mandate) return `Member ${mandate.leader} coordinates in term ${mandate.term}.`;
  return `There is no coordinator, as member ${status.id} sees it${why_no_mandate ? `: ${why_no_mandate}` : ""}.`;
}

/** Tells those who listen instead of looking when the coordinator changes; not every tick. */
export function Announcer({ room }: { room: Room }) {
  const said = useSignal("");
  useSignalEffect(() => {
    const { glance, moved, phase } = room.feed.value;
    if (!glance) return;
    const news = [phase === "lost" ? "No member answers." : verdict(glance.status), moved].filter(Boolean).join(" ");
    if (news !== said.peek()) said.value = news;
  });
  return <p class="visually-hidden" role="status">{said}</p>;
}
