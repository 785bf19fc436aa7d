import { describe, expect, test } from "vitest";
import { pack, packSource, PLAIN_VIEW, readLink, unpack, writeLink, type Link } from "./links";

const reading = (hash: string) => readLink(new URLSearchParams(hash));

/** Through a link and back, as a browser passes it on. */
async function through(link: Link) {
  const params = writeLink(await packSource(link.source!), link);
  return reading(new URL(`http://x/explore#${params}`).hash.slice(1));
}

describe("a link", () => {
  test("brings back all that it was made of", async () => {
    const link: Link = {
      source: { scenario: "# für alle\ncluster bully 1..4\ncrash 4\nrun\n" },
      branches: [
        { parent: 0, afterUs: 10_000, command: "crash 3" },
        { parent: 1, afterUs: 20_001, command: "partition 1,2|3,4" },
        { parent: 0, afterUs: 0, command: "cut 1>2;cut 2>1" },
        { parent: 2, afterUs: 7, command: "say:a_b%5F.c 2" },
      ],
      run: 2,
      at: 17,
      view: { speed: 0.25, zoom: 1.414, event: 3, node: 2 },
    };
    expect(await through(link)).toEqual({ link, problems: [] });
  });

  test("to an exhibit is short", async () => {
    const link: Link = { source: { exhibit: "bully-p1-to-p4" }, branches: [], run: 0, at: 0, view: PLAIN_VIEW };
    expect(String(writeLink(await packSource(link.source!), link))).toBe("exhibit=bully-p1-to-p4");
    expect(await through(link)).toEqual({ link, problems: [] });
  });

  test("with a broken number names it, and the rest is read", async () => {
    for (const broken of ["at=-1", "at=x", "at=", "at=1.5", "run=1", "speed=99", "zoom=0", "node=P3", "event=0"]) {
      const { link, problems } = await reading(`exhibit=a&${broken}`);
      expect(problems, broken).toHaveLength(1);
      expect(problems[0]).toContain(broken);
      expect(link.source).toEqual({ exhibit: "a" });
      expect(link.view).toEqual(PLAIN_VIEW);
    }
  });

  test("with a broken branch keeps those before it", async () => {
    for (const broken of ["nonsense", "0.x.crash_3", "5.10.crash_3", "0.10.", "0.99999999999999999999.crash_1"]) {
      const { link, problems } = await reading(`exhibit=a&b=0.1.crash_1&b=${broken}&b=0.2.crash_2&run=3`);
      expect(problems[0], broken).toMatch(/^Branch 2 /);
      expect(link.branches).toEqual([{ parent: 0, afterUs: 1, command: "crash 1" }]);
      expect(link.run).toBe(1);
    }
  });

  test("with a scenario that was cut off in passing says so", async () => {
    const whole = await pack("cluster bully 1..4\n".repeat(40));
    for (const cut of [whole.slice(0, -6), "!!!", "", "AAAA"]) {
      const { link, problems } = await reading(`s=${cut}`);
      expect(link.source, cut).toBeNull();
      expect(problems[0]).toMatch(/scenario \(s\).*broken/);
    }
  });

  test("that says nothing, or something unknown, is told", async () => {
    expect((await reading("at=3")).problems).toEqual(["The link does not say which run to show."]);
    expect((await reading("exhibit=a&colour=red")).problems[0]).toMatch(/colour/);
  });
});

test("a small text that unpacks to a huge one is refused", async () => {
  const bomb = await pack("a".repeat(20 << 20));
  expect(bomb.length).toBeLessThan(60_000);
  await expect(unpack(bomb)).rejects.toThrow();
});
