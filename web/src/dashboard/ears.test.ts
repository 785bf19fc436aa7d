import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { AGAIN_AFTER_MS, Ears, EARS_MAX } from "./ears";
import { FakeNetwork } from "./fakes";

const at = (id: number) => ({ id, origin: `http://m${id}` });
const url = (id: number) => `http://m${id}/v1/messages`;

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function ears() {
  const network = new FakeNetwork();
  const heard = vi.fn();
  const trouble = vi.fn();
  return { network, heard, trouble, ears: new Ears(network.open, heard, trouble) };
}

test("it listens to all that live and to no other", () => {
  const { network, ears: two } = ears();
  two.follow([at(1), at(2)]);
  two.follow([at(2), at(3)]);
  expect(network.listening).toEqual([url(2), url(3)]);
  expect([1, 2, 3].filter(two.hears)).toEqual([2, 3]);
});

test("one that broke off is asked again after a while", () => {
  const { network, ears: one } = ears();
  one.follow([at(1)]);
  network.cut(url(1));
  one.follow([at(1)]);
  expect(network.called).toHaveLength(1);
  vi.advanceTimersByTime(AGAIN_AFTER_MS);
  one.follow([at(1)]);
  expect(network.listening).toEqual([url(1)]);
});

test("what is not understood is told and ends the stream", () => {
  const { network, heard, trouble, ears: one } = ears();
  one.follow([at(1)]);
  network.say(url(1), { id: 1, messages: [], missed: 0 });
  expect(heard).toHaveBeenCalledOnce();
  network.say(url(1), "<html>");
  expect(trouble).toHaveBeenCalledWith(1, "it is no JSON");
  expect(network.listening).toEqual([]);
});

test("of a large cluster some are listened to", () => {
  const { network, ears: some } = ears();
  some.follow(Array.from({ length: 64 }, (_, place) => at(place + 1)));
  expect(network.listening).toHaveLength(EARS_MAX);
});
