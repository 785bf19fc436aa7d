import type { Page } from "@playwright/test";
import { readdirSync } from "node:fs";
import { gallery } from "./api";
import { Explorer } from "./explorer";
import { expect, test } from "./fixtures";

/** The gallery is walked through in parts, side by side. */
const PARTS = 4;
const LESSONS = readdirSync(new URL("../src/lessons/runs", import.meta.url)).map((run) => run.replace(".txt", ""));
/** How many steps a walk goes to by chance, and how many exhibits are branched: every one would take minutes. */
const STEPS = 6;

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

/** Moves the slider and waits until the page is there. */
async function slideTo(view: Explorer, step: number, at: string) {
  await view.page.getByRole("slider", { name: "Event" }).fill(String(step));
  expect((await view.place()).step, at).toBe(step);
  await expectWhole(view.page, `${at} at step ${step}`);
}

for (let part = 0; part < PARTS; part++) {
  test(`every run of the gallery can be walked through, part ${part + 1} of ${PARTS}`, async ({ page, explore }) => {
    test.setTimeout(300_000);
    const view = new Explorer(page);
    const { exhibits } = await gallery(explore);
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
      for (let count = 0; count < STEPS; count++) await slideTo(view, Math.floor(random() * (end.of + 1)), id);
      if (await view.button("Show where").isVisible()) {
        await view.button("Show where").click();
        await expect(page.locator(".now.violated"), id).toBeVisible();
        await expectWhole(page, `${id} where it is violated`);
      }
      await slideTo(view, Math.floor(random() * (end.of + 1)), id);
      await branch(view, random, id);
    }
  });
}

/** Breaks a process that is up at the moment that is shown, and goes to both ends of what comes of it. */
async function branch(view: Explorer, random: () => number, id: string) {
  const { page } = view;
  const up = page.locator("[data-node]:not(.down)");
  const count = await up.count();
  if (count === 0) return;
  const deed = random() < 0.7 ? "Crash" : "Cut off from all others";
  await up.nth(Math.floor(random() * count)).click();
  await page.getByRole("menuitem", { name: deed, exact: true }).or(page.getByRole("menuitem", { name: "Crash" })).last().click();
  await expect(view.runs, id).toHaveCount(2);
  await expectWhole(page, `a branch of ${id}`);
  for (const end of ["To the end", "To the beginning"]) {
    if (await view.button(end).isEnabled()) await view.button(end).click();
    await expectWhole(page, `a branch of ${id}, ${end}`);
  }
}

for (const name of LESSONS) {
  test(`the lesson ${name} can be walked through`, async ({ page, explore }) => {
    const view = new Explorer(page);
    const random = chance(name);
    await page.goto(`${explore}/explore#lesson=${name}`);
    await page.getByRole("button", { name: "Begin", exact: true }).click();
    const stops = page.getByRole("navigation", { name: "Stops of the lesson" }).getByRole("button");
    const count = await stops.count();
    for (const stop of [count, 1, ...Array.from({ length: STEPS }, () => 1 + Math.floor(random() * count))]) {
      await stops.nth(stop - 1).click();
      await page.keyboard.press(String(1 + Math.floor(random() * 2)));
      await expect(page.locator(".verdict"), `stop ${stop}`).toBeVisible();
      const at = page.getByRole("slider", { name: "Event" });
      await at.fill("0");
      await at.fill(String(Math.floor(random() * Number(await at.getAttribute("max")))));
      await expect(page.getByText("failed to render")).toHaveCount(0);
      await expect(page.getByRole("region", { name: "Processes" })).toBeVisible();
    }
    await page.getByRole("button", { name: `Stop ${count}`, exact: true }).click();
    await page.keyboard.press("1");
    await page.getByRole("button", { name: "Finish" }).click();
    await view.button("Pause").click({ timeout: 1000 }).catch(() => {});
    await view.button("To the end").click();
    await expect(page.getByText("failed to render")).toHaveCount(0);
  });
}
