import type { Room } from "./room";
import type { Up } from "./wire";

/** What can be done to one member. A button that makes no sense now is disabled, and stays where it is. */
export function Act({ room, up, id }: { room: Room; up: Up; id: number }) {
  const process = up.members.find((member) => member.id === id)?.process;
  if (!process) return null;
  const side = up.partition.find((members) => members.includes(id));
  const isAlone = side?.length === 1;
  const order = (verb: string) => () => void room.order(`${verb} ${id}`);
  const button = (words: string, verb: string, disabled = false) => (
    <button type="button" disabled={disabled} aria-label={`${words} member ${id}`} onClick={order(verb)}>{words}</button>
  );
  return (
    <>
      {process === "dead" ? button("Revive", "revive") : button("Kill", "kill")}
      {process === "paused" ? button("Resume", "resume") : button("Pause", "pause", process === "dead")}
      {button("Cut off", "partition", process === "dead" || isAlone)}
    </>
  );
}
