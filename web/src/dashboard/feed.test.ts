import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FakeNetwork, glance } from "./fakes";
import { Feed, ROUND_AFTER_MS, SILENT_AFTER_MS } from "./feed";

const watch = (id: number) => `http://m${id}:80/v1/watch`;

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function started(first = "http://m1:80") {
  const network = new FakeNetwork();
  const feed = new Feed(network.open, () => undefined);
  feed.begin(first);
  return { network, feed };
}

test("it shows what the member says", () => {
  const { network, feed } = started();
  expect(feed.state.phase).toBe("searching");
  network.say(watch(1), glance(1, 3));
  expect(feed.state).toMatchObject({ phase: "live", origin: "http://m1:80", moved: null });
  expect(feed.state.glance?.status.mandate?.leader).toBe(3);
});

test("when its member is gone it goes on with another and says so", () => {
  const { network, feed } = started();
  network.say(watch(1), glance(1, 1));
  network.cut(watch(1));
  expect(feed.state.phase).toBe("searching");
  expect(network.listening).toEqual([watch(2)]);
  network.say(watch(2), glance(2, 3));
  expect(feed.state.phase).toBe("live");
  expect(feed.state.moved).toBe("Member 1 does not answer. Now talking to member 2.");
});

test("a member that is stopped is left because it says nothing", () => {
  const { network, feed } = started();
  network.say(watch(1), glance(1, 1));
  vi.advanceTimersByTime(SILENT_AFTER_MS - 1);
  expect(network.listening).toEqual([watch(1)]);
  vi.advanceTimersByTime(1);
  expect(network.listening).toEqual([watch(2)]);
  network.say(watch(2), glance(2, 3));
  expect(feed.state.moved).toContain("Member 1 has said nothing for a while.");
});

test("a member that is known to be stopped is left at once", () => {
  const { network, feed } = started();
  network.say(watch(1), glance(1, 1));
  feed.avoid(new Set([1, 2]));
  expect(network.listening).toEqual([watch(3)]);
});

test("members that are silent are tried last", () => {
  const { network } = started();
  network.say(watch(1), glance(1, 1, [2]));
  network.cut(watch(1));
  expect(network.listening).toEqual([watch(3)]);
  network.cut(watch(3));
  expect(network.listening).toEqual([watch(2)]);
});

test("if no member answers it says so and tries again, all of them", () => {
  const { network, feed } = started();
  network.say(watch(1), glance(1, 1));
  for (const id of [1, 2, 3]) network.cut(watch(id));
  expect(feed.state.phase).toBe("lost");
  expect(feed.state.glance?.status.id).toBe(1);
  vi.advanceTimersByTime(ROUND_AFTER_MS);
  expect(network.listening).toEqual([watch(2)]);
  network.say(watch(2), glance(2, 2));
  expect(feed.state.phase).toBe("live");
});

test("what is not understood is told, and another member is asked", () => {
  const { network, feed } = started();
  network.say(watch(1), glance(1, 1));
  network.say(watch(1), { status: { id: "one" }, members: [] });
  expect(feed.state.troubles.get("http://m1:80")).toBe("status.cluster is nothing instead of string");
  expect(network.listening).toEqual([watch(2)]);
  network.say(watch(2), glance(2, 2));
  expect(feed.state.phase).toBe("live");
  expect(feed.state.moved).toContain("is not understood");
  feed.choose(1);
  network.say(watch(1), glance(1, 1));
  expect(feed.state.troubles.size).toBe(0);
});

test("a member of another cluster is no member", () => {
  const { network, feed } = started();
  network.say(watch(1), glance(1, 1));
  const stranger = glance(1, 1);
  stranger.status.cluster = "other";
  network.say(watch(1), stranger);
  expect(feed.state.troubles.get("http://m1:80")).toContain("cluster other");
});

test("the viewer chooses whom to talk to, and is not told about it", () => {
  const { network, feed } = started();
  network.say(watch(1), glance(1, 1));
  feed.choose(3);
  expect(network.listening).toEqual([watch(3)]);
  network.say(watch(3), glance(3, 1));
  expect(feed.state.moved).toBeNull();
  feed.choose(9);
  expect(network.listening).toEqual([watch(3)]);
});

test("addresses from elsewhere are enough to begin", () => {
  const network = new FakeNetwork();
  const feed = new Feed(network.open, () => undefined);
  feed.learn([{ id: 2, http: "m2:80" }]);
  network.say(watch(2), glance(2, 2));
  expect(feed.state.phase).toBe("live");
});

test("at rest no member is called; awake it goes on with the same member", () => {
  const { network, feed } = started();
  network.say(watch(1), glance(1, 1));
  feed.rest();
  vi.advanceTimersByTime(60_000);
  expect(network.listening).toEqual([]);
  expect(network.called).toHaveLength(1);
  feed.wake();
  expect(network.listening).toEqual([watch(1)]);
});
