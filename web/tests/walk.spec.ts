import type { Page } from "@playwright/test";
import { readdirSync } from "node:fs";
import { gallery } from "./api";
import { Explorer, solve } from "./explorer";
import { expect, test } from "./fixtures";

/** The gallery is walked through in parts, side by side. */
const PARTS = 4;
const LESSONS = readdirSync(new URL("../src/lessons/runs", import.meta.url)).map((run) => run.replace(".txt", ""));
/** How many steps a walk goes to by chance. */
const STEPS = 8;

/** Numbers from 0 to 1 by chance, the same in every run of the tests for the same name. */
function chance(name: string): () => number {
  let state = [...name].reduce((hash, letter) => (Math.imul(hash, 31) + letter.charCodeAt(0)) | 0, 7);
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return (state >>> 0) / 2 ** 32;
  };
}

/** No panel has failed, and none is missing. */
async function expectWhole(page: Page, at: string) {
  await expect(page.getByText("failed to render"), at).toHaveCount(0);
  for (const name of ["Processes", "Messages", "Events"]) {
    await expect(page.getByRole("region", { name, exact: true }), `${at}: ${name}`).toBeVisible();
  }
}

/** Pulls the slider to steps by chance. A panel that fails at one of them stays failed. */
async function wander(page: Page, random: () => number) {
  const parts = Array.from({ length: STEPS }, random);
  await page.getByRole("slider", { name: "Event" }).evaluate(async (slider: HTMLInputElement, parts) => {
    for (const part of parts) {
      slider.valueAsNumber = Math.floor(part * (Number(slider.max) + 1));
      slider.dispatchEvent(new Event("input", { bubbles: true }));
      await new Promise(requestAnimationFrame);
      await new Promise(requestAnimationFrame);
    }
  }, parts);
}

for (let part = 0; part < PARTS; part++) {
  test(`every run of the gallery can be walked through, part ${part + 1} of ${PARTS}`, async ({ page, explore, site, faults }) => {
    const view = new Explorer(page);
    faults.allow(...REFUSED);
    const { exhibits } = await gallery(explore, site);
    const mine = exhibits.filter((_, index) => index % PARTS === part);
    expect(mine.length).toBeGreaterThan(20);
    await page.goto(`${explore}/explore`);
    for (const { id, title } of mine) {
      const random = chance(id);
      await page.evaluate((id) => (location.hash = `exhibit=${id}`), id);
      await expect(page.getByRole("heading", { level: 1 }), id).toContainText(title);
      await view.button("To the end").click();
      await expect(view.button("To the end"), id).toBeDisabled();
      const end = await view.place();
      expect(end.step, id).toBe(end.of);
      await expectWhole(page, `${id} at its end`);
      await view.button("To the beginning").click();
      await expect(view.button("To the beginning"), id).toBeDisabled();
      expect((await view.place()).step, id).toBe(0);
      await wander(page, random);
      await expectWhole(page, `${id} on the way`);
      if (await view.button("Show where").isVisible()) {
        await view.button("Show where").click();
        await expect(page.locator(".now.violated"), id).toBeVisible();
        await expectWhole(page, `${id} where it is violated`);
        await wander(page, random);
      }
      await branch(view, random, id);
    }
  });
}

/** A branch behind the end of its scenario is refused, and the browser writes that to its console. */
const REFUSED = [/console: Failed to load resource: the server responded with a status of 422/, /response: .*run 422/];

/** Breaks a process that is up at the moment that is shown, and walks through what comes of it. */
async function branch(view: Explorer, random: () => number, id: string) {
  const { page } = view;
  const up = page.locator("[data-node]:not(.down)");
  const count = await up.count();
  if (count === 0) return;
  await up.nth(Math.floor(random() * count)).click();
  const cut = page.getByRole("menuitem", { name: "Cut off from all others", exact: true });
  // A process that is down at the end of this microsecond cannot crash.
  const crash = page.getByRole("menuitem", { name: /^(Crash|Recover)$/ });
  await (random() < 0.3 && (await cut.isVisible()) ? cut : crash).click();
  const refused = page.getByText("the scenario is over at");
  await expect(view.runs.nth(1).or(refused), id).toBeVisible();
  if (await refused.isVisible()) return;
  await wander(page, random);
  for (const end of ["To the end", "To the beginning"]) {
    if (await view.button(end).isEnabled()) await view.button(end).click();
  }
  await expectWhole(page, `a branch of ${id}`);
}

for (const name of LESSONS) {
  test(`the lesson ${name} can be walked through`, async ({ page, explore }) => {
    const random = chance(name);
    await page.goto(`${explore}/explore#lesson=${name}`);
    await page.getByRole("button", { name: "Begin", exact: true }).click();
    const stops = page.getByRole("navigation", { name: "Stops of the lesson" }).getByRole("button");
    const count = await stops.count();
    for (const stop of [count, 1, ...Array.from({ length: STEPS }, () => 1 + Math.floor(random() * count))]) {
      await stops.nth(stop - 1).click();
      await page.keyboard.press(String(1 + Math.floor(random() * 2)));
      await expect(page.locator(".verdict"), `stop ${stop}`).toBeVisible();
      await wander(page, random);
      await expect(page.getByText("failed to render"), `stop ${stop}`).toHaveCount(0);
      await expect(page.getByRole("region", { name: "Processes" }), `stop ${stop}`).toBeVisible();
    }
    await page.getByRole("button", { name: `Stop ${count}`, exact: true }).click();
    await page.keyboard.press("1");
    await solve(page);
    await page.getByRole("button", { name: "Finish" }).click();
    await wander(page, random);
    await expect(page.getByRole("heading", { level: 2 }).first()).toBeVisible();
    await expect(page.getByText("failed to render")).toHaveCount(0);
  });
}
