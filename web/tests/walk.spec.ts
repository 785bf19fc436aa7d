import type { Page } from "@playwright/test";
import { readdirSync, readFileSync } from "node:fs";
import { gallery } from "./api";
import { expect, test } from "./fixtures";
import { installWalker } from "./walker";

const RUNS = new URL("../src/lessons/runs/", import.meta.url);
const LESSONS = readdirSync(RUNS).map((file) => {
  const [, title = ""] = /^# Lesson \d+\. (.+)$/m.exec(readFileSync(new URL(file, RUNS), "utf8")) ?? [];
  return { name: file.replace(".txt", ""), title };
});

/** How the page can look. */
const LOOKS = (["light", "dark"] as const).flatMap((colorScheme) =>
  [{ width: 1280, height: 800 }, { width: 1600, height: 900 }, { width: 390, height: 844 }].map((viewport) => ({ colorScheme, viewport })));

/** The gallery is walked through in parts, side by side; each looks at its own half of the looks. */
const PARTS = 2;

/** A branch behind the end of its scenario is refused, and the browser writes that to its console. */
const REFUSED = [/console: Failed to load resource: the server responded with a status of 422/, /response: .*run 422/];

/** What is visited and in which look: all of a family in turn, and every family in every look. */
function visitsOf<T>(families: readonly (readonly T[])[]): T[][] {
  const visits: T[][] = LOOKS.map(() => []);
  for (const members of families) {
    for (let turn = 0; turn < Math.max(members.length, LOOKS.length); turn++) {
      visits[turn % LOOKS.length]!.push(members[turn % members.length]!);
    }
  }
  return visits;
}

/** Walks through everything in one page, which changes its look on the way. */
async function walk<T>(page: Page, url: string, visits: readonly (readonly T[])[], looks: readonly number[], visit: (one: T) => Promise<void>) {
  await page.addInitScript(installWalker);
  await page.goto(url);
  const wrong: string[] = [];
  for (const look of looks) {
    const { colorScheme, viewport } = LOOKS[look]!;
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(viewport);
    for (const one of visits[look]!) {
      await visit(one).catch((error: Error) => wrong.push(`${colorScheme}, ${viewport.width} px: ${error.message.split("\n")[0]}`));
    }
  }
  expect(wrong).toEqual([]);
}

const looksOf = (part: number) => LOOKS.map((_, look) => look).filter((look) => look % PARTS === part);

for (let part = 0; part < PARTS; part++) {
  test(`every run of the gallery can be walked through, part ${part + 1} of ${PARTS}`, async ({ page, explore, site, faults }) => {
    test.setTimeout(600_000);
    faults.allow(...REFUSED);
    const { exhibits } = await gallery(explore, site);
    const names = [...new Set(exhibits.map(({ family }) => family))];
    const families = names.map((name) => exhibits.filter(({ family }) => family === name));
    expect(exhibits.length).toBeGreaterThan(100);
    expect(families.length).toBeGreaterThan(7);
    await walk(page, `${explore}/explore`, visitsOf(families), looksOf(part), ({ id, title }) =>
      page.evaluate(([id, title]) => window.walker.exhibit(id!, title!), [id, title]));
  });

  test(`every lesson can be walked through, part ${part + 1} of ${PARTS}`, async ({ page, explore }) => {
    test.setTimeout(600_000);
    await walk(page, `${explore}/explore`, visitsOf([LESSONS]), looksOf(part), ({ name, title }) =>
      page.evaluate(([name, title]) => window.walker.lesson(name!, title!), [name, title]));
  });
}
