import { expect, test } from "vitest";
import { Traffic, WINDOW_MS } from "./traffic";
import type { Message, Messages } from "./wire";

function message(from: number, to: number, kind: string, overhead = true, count = 1): Message {
  return { at: "", from, to, kind, text: kind, direction: "sent", overhead, cut: false, count };
}

const told = (id: number, messages: Message[]): Messages => ({ id, messages, missed: 0 });
const everybody = () => true;

test("a message that both ends tell of counts once", () => {
  const traffic = new Traffic();
  const beat = message(1, 2, "HEARTBEAT");
  traffic.add(told(1, [beat]), everybody, 0);
  traffic.add(told(2, [beat]), everybody, 0);
  expect(traffic.pairs(1_000).get("1>2")?.perSecond).toBe(1);
});

test("the receiver's word counts if the sender is not listened to", () => {
  const traffic = new Traffic();
  expect(traffic.add(told(2, [message(1, 2, "HEARTBEAT")]), (id) => id === 2, 0)).toHaveLength(1);
});

test("rates are averages over the last seconds", () => {
  const traffic = new Traffic();
  for (let at = 0; at < 2 * WINDOW_MS; at += 100) {
    traffic.add(told(1, [message(1, 2, "HEARTBEAT", true, 2), message(1, 2, "OK")]), everybody, at);
  }
  const rate = traffic.pairs(2 * WINDOW_MS).get("1>2");
  expect(rate?.perSecond).toBeCloseTo(30, -1);
  expect(rate?.kinds).toEqual(["HEARTBEAT", "OK"]);
  expect(traffic.kinds(2 * WINDOW_MS).get("OK")?.perSecond).toBeCloseTo(10, -1);
  expect(traffic.pairs(4 * WINDOW_MS).size).toBe(0);
});

test("what is no heartbeat is kept, the latest first", () => {
  const traffic = new Traffic();
  traffic.add(told(1, [message(1, 2, "HEARTBEAT"), message(1, 2, "ELECTION", false)]), everybody, 0);
  traffic.add(told(1, [message(1, 3, "COORDINATOR", false)]), everybody, 1);
  expect(traffic.notable.map(({ kind, number }) => [kind, number])).toEqual([["COORDINATOR", 2], ["ELECTION", 1]]);
});
