import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FakeNetwork } from "../fakes";
import { coordination, lock } from "./fakes";
import { EVERY_MS } from "./pace";
import { AGAIN_AFTER_MS, CoordinationWatch, MORE, NOTHING_YET } from "./watch";

const url = (id: number) => `http://m${id}/v1/coordination/watch`;
const at = (id: number) => `http://m${id}`;

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** A watch; the members of `old` are of a version without coordination, those of `dead` do not answer. */
function watch({ old = [] as number[], dead = [] as number[] } = {}) {
  const network = new FakeNetwork();
  const asked: string[] = [];
  const seen = { state: NOTHING_YET };
  const hasCoordination = (origin: string) => {
    asked.push(origin);
    if (dead.map(at).includes(origin)) return Promise.reject(new Error("no member answers"));
    return Promise.resolve(!old.map(at).includes(origin));
  };
  return { network, asked, seen, dead, watch: new CoordinationWatch(network.open, hasCoordination, (state) => (seen.state = state)) };
}

const settled = () => vi.advanceTimersByTimeAsync(0);

test("it shows what the member says, and rests while the page is hidden", async () => {
  const { network, seen, watch: one } = watch();
  one.follow(at(1));
  expect(seen.state.phase).toBe("asking");
  await settled();
  network.say(url(1), coordination({ locks: [lock("a", [])] }));
  expect(seen.state).toMatchObject({ phase: "live", coordination: { locks: [{ name: "a" }] } });
  one.follow(null);
  expect(network.listening).toEqual([]);
  expect(seen.state).toMatchObject({ phase: "resting", coordination: { id: 1 } });
});

test("a member of an older version is not asked for its coordination state", async () => {
  const { network, seen, watch: one } = watch({ old: [1] });
  one.follow(at(1));
  await settled();
  expect(seen.state).toMatchObject({ phase: "without", coordination: null });
  expect(network.called).toEqual([]);
});

test("whether a member has a coordination state is asked once, until its stream breaks", async () => {
  const { asked, network, watch: one } = watch();
  for (const origin of [at(1), null, at(1)]) {
    one.follow(origin);
    await settled();
  }
  expect(asked).toEqual([at(1)]);
  network.cut(url(1));
  await vi.advanceTimersByTimeAsync(AGAIN_AFTER_MS);
  expect(asked).toEqual([at(1), at(1)]);
  expect(network.listening).toEqual([url(1)]);
});

test("one that does not answer is asked again, until another one is followed", async () => {
  const { asked, network, seen, dead, watch: one } = watch({ dead: [1] });
  one.follow(at(1));
  await settled();
  expect(seen.state.phase).toBe("lost");
  dead.pop();
  await vi.advanceTimersByTimeAsync(AGAIN_AFTER_MS);
  expect(network.listening).toEqual([url(1)]);
  network.cut(url(1));
  one.follow(at(2));
  await vi.advanceTimersByTimeAsync(10 * AGAIN_AFTER_MS);
  expect(network.listening).toEqual([url(2)]);
  expect(asked).toEqual([at(1), at(1), at(2)]);
});

test("an answer that comes when another one is followed already is left alone", async () => {
  const { network, watch: one } = watch();
  one.follow(at(1));
  one.follow(at(2));
  await settled();
  expect(network.called).toEqual([url(2)]);
});

test("looking away and back before the answer opens one stream", async () => {
  const { network, watch: one } = watch();
  for (const origin of [at(1), null, at(1)]) one.follow(origin);
  await settled();
  expect(network.called).toEqual([url(1)]);
});

test("what is not understood is told, and what was known stays", async () => {
  const { network, seen, watch: one } = watch();
  one.follow(at(1));
  await settled();
  network.say(url(1), coordination({ sequence: 7 }));
  network.say(url(1), { ...coordination(), locks: [{ name: 1 }] });
  vi.advanceTimersByTime(EVERY_MS);
  expect(seen.state.trouble).toBe("locks.name is number instead of string");
  expect(seen.state.coordination?.sequence).toBe(7);
  network.say(url(1), coordination({ sequence: 8 }));
  vi.advanceTimersByTime(EVERY_MS);
  expect(seen.state).toMatchObject({ trouble: null, coordination: { sequence: 8 } });
});

test("nothing new is nothing to show", async () => {
  const { network, seen, watch: one } = watch();
  one.follow(at(1));
  await settled();
  network.say(url(1), coordination());
  const before = seen.state;
  vi.advanceTimersByTime(5_000);
  network.say(url(1), coordination());
  vi.advanceTimersByTime(5_000);
  expect(seen.state).toBe(before);
});

test("more is asked for in another stream, and what is known stays meanwhile", async () => {
  const { asked, network, seen, watch: one } = watch();
  one.follow(at(1));
  await settled();
  network.say(url(1), coordination({ left_out: 5 }));
  one.follow(at(1), true);
  await settled();
  expect(network.listening).toEqual([`${url(1)}?limit=${MORE}`]);
  expect(seen.state.coordination?.left_out).toBe(5);
  one.follow(at(1), false);
  await settled();
  expect(network.listening).toEqual([url(1)]);
  expect(asked).toEqual([at(1)]);
});
