import { BULLY, exhibit } from "./api";
import { Explorer } from "./explorer";
import { expect, test } from "./fixtures";

test("the bully example to its end: the counters are those of the API", async ({ page, explore }) => {
  const view = new Explorer(page);
  const { events, outcome } = await exhibit(explore, BULLY);
  await page.goto(`${explore}/explore#exhibit=${BULLY}`);
  await expect(view.button("One event back")).toBeDisabled();
  for (let step = 1; step <= events.length; step++) {
    await view.button("One event forward").click();
    expect((await view.place()).step).toBe(step);
  }
  await expect(view.button("One event forward")).toBeDisabled();
  expect(outcome.messages.length).toBeGreaterThan(2);
  for (const { kind, sent } of outcome.messages) expect(await view.count(kind), kind).toBe(sent);
  await expect(view.process("P3")).toHaveAccessibleName(/follows P4/);
  await view.button("To the beginning").click();
  for (const { kind } of outcome.messages) expect(await view.count(kind), kind).toBe(0);
});

test("in the middle, the counters are what the events before it add up to", async ({ page, explore }) => {
  const view = new Explorer(page);
  const { events, outcome } = await exhibit(explore, BULLY);
  const middle = Math.floor(events.length / 2);
  await page.goto(`${explore}/explore#exhibit=${BULLY}&at=${middle}`);
  await expect(view.button("Play")).toBeVisible();
  for (const { kind } of outcome.messages) {
    const sent = events.slice(0, middle).filter((event) => event.event === "send" && event.kind === kind);
    expect(await view.count(kind), kind).toBe(sent.length);
  }
});

test("P3 crashes at a moment: the run branches, and both branches stay", async ({ page, explore }) => {
  const view = new Explorer(page);
  await page.goto(`${explore}/explore#exhibit=${BULLY}&at=7`);
  await view.doTo("P3", "Crash");
  await expect(view.runs).toHaveCount(2);
  await expect(view.runs.nth(1)).toHaveAttribute("aria-pressed", "true");
  await expect(view.process("P3")).toHaveAccessibleName(/down/);
  await view.button("To the end").click();
  const branch = await view.count("ELECTION");
  await view.runs.nth(0).click();
  await expect(view.process("P3")).not.toHaveAccessibleName(/down/);
  await page.keyboard.press("End");
  const { outcome } = await exhibit(explore, BULLY);
  const original = outcome.messages.find(({ kind }) => kind === "ELECTION")?.sent;
  expect(await view.count("ELECTION")).toBe(original);
  expect(branch).not.toBe(original);
  await view.runs.nth(1).click();
  await expect(view.process("P3")).toHaveAccessibleName(/down/);
});

test("a friend who follows the link sees the same run, the same branch, the same step", async ({ page, explore, another }) => {
  const view = new Explorer(page);
  await page.goto(`${explore}/explore#exhibit=${BULLY}&at=7`);
  await view.doTo("P3", "Crash");
  await expect(view.runs).toHaveCount(2);
  for (let step = 0; step < 3; step++) await view.button("One event forward").click();
  await expect(page).toHaveURL(/run=1/);
  const place = await view.place();
  await expect(page).toHaveURL(new RegExp(`at=${place.step}(&|$)`));

  const friend = new Explorer(await another());
  await friend.page.goto(page.url());
  await expect(friend.runs).toHaveCount(2);
  await expect(friend.runs.nth(1)).toHaveAttribute("aria-pressed", "true");
  await expect.poll(() => friend.place()).toEqual(place);
  expect(await friend.now.innerText()).toBe(await view.now.innerText());
  expect(await friend.runs.allInnerTexts()).toEqual(await view.runs.allInnerTexts());
  for (const kind of ["ELECTION", "OK"]) expect(await friend.count(kind)).toBe(await view.count(kind));
});

test("a partition, as a student would make it, and its link", async ({ page, explore, another }) => {
  const view = new Explorer(page);
  await page.goto(`${explore}/explore#exhibit=${BULLY}&at=5`);
  await view.doTo("P2", "Partition…");
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel(/^P1/).check();
  await dialog.getByRole("button", { name: /Do it|Partition|Go/ }).click();
  await expect(view.runs).toHaveCount(2);
  await expect(page).toHaveURL(/partition/);
  const friend = new Explorer(await another());
  await friend.page.goto(page.url());
  await expect(friend.runs).toHaveCount(2);
});

test("by keys alone: from the gallery to a run, through it, and into a branch", async ({ page, explore }) => {
  const view = new Explorer(page);
  await page.goto(`${explore}/explore`);
  const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim() ?? "");
  const tabTo = async (found: () => Promise<boolean>) => {
    for (let tries = 0; tries < 80; tries++) {
      if (await found()) return;
      await page.keyboard.press("Tab");
    }
    throw new Error("Tab never led there");
  };
  await expect(page.getByRole("link", { name: "Watch the example" })).toBeVisible();
  await tabTo(async () => (await focused()) === "Watch the example");
  await page.keyboard.press("Enter");
  await expect(view.button("Play")).toBeVisible();
  for (let step = 0; step < 7; step++) await page.keyboard.press("ArrowRight");
  expect((await view.place()).step).toBe(7);
  await page.keyboard.press("ArrowLeft");
  expect((await view.place()).step).toBe(6);

  await tabTo(() => page.evaluate(() => document.activeElement?.hasAttribute("data-node") ?? false));
  for (let tries = 0; tries < 4 && !/^P3/.test((await page.evaluate(() => document.activeElement?.getAttribute("aria-label"))) ?? ""); tries++) {
    await page.keyboard.press("ArrowRight");
  }
  await page.keyboard.press("Enter");
  await expect(page.getByRole("menuitem", { name: "Crash" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(view.runs).toHaveCount(2);
  await expect(view.process("P3")).toHaveAccessibleName(/down/);
  await tabTo(async () => (await focused()) === "Original");
  await page.keyboard.press("Enter");
  await expect(view.process("P3")).not.toHaveAccessibleName(/down/);
});
