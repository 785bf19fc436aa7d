import AxeBuilder from "@axe-core/playwright";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "./fixtures";
import { binary } from "./servers";

const LESSONS = fileURLToPath(new URL("../src/lessons/", import.meta.url));

test("the runs that the lessons' facts are counted in are those of the command", () => {
  const folder = mkdtempSync(join(tmpdir(), "bellwether-lessons-"));
  try {
    const runs = readdirSync(join(LESSONS, "runs"));
    expect(runs.length).toBeGreaterThan(20);
    for (const run of runs) {
      const out = join(folder, "run.jsonl");
      const recorded = join(LESSONS, "fixtures", run.replace(".txt", ".jsonl"));
      const { status } = spawnSync(binary(), ["sim", join(LESSONS, "runs", run), "--quiet", "--trace", "json", "--out", out]);
      // A run that breaks an invariant ends with 1, and is meant to.
      expect([0, 1], run).toContain(status);
      const isSame = readFileSync(out, "utf8") === readFileSync(recorded, "utf8");
      expect(isSame, `record it: bellwether sim web/src/lessons/runs/${run} --trace json --out ${recorded}`).toBe(true);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a lesson with the keyboard alone, and its link", async ({ page, explore, another }) => {
  await page.goto(`${explore}/explore#lesson=bully`);
  const begin = page.getByRole("button", { name: "Begin", exact: true });
  await begin.focus();
  await page.keyboard.press("Enter");
  const question = page.getByRole("heading", { name: "Which processes does it ask?" });
  await expect(question).toBeFocused();
  await page.keyboard.press("1");
  await expect(page.locator(".verdict")).toContainText("Not quite.");
  await page.keyboard.press("2");
  await expect(page.locator(".verdict")).toContainText("Correct.");
  await expect(page.locator(".verdict")).toContainText("Rule R1");
  await expect(page).toHaveURL(/lesson=bully&stop=1&answer=1/);
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations.filter(({ impact }) => impact === "serious" || impact === "critical").map(({ id }) => id)).toEqual([]);

  const next = page.getByRole("button", { name: "Continue" });
  await next.focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "What does P3 do?" })).toBeFocused();

  const friend = await another({ viewport: { width: 390, height: 844 } });
  await friend.goto(page.url());
  await expect(friend.getByRole("heading", { name: "What does P3 do?" })).toBeVisible();
  expect(await friend.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
});

test("a wrong answer gets a hint first, the solution on request, and the browser remembers the stop", async ({ page, explore }) => {
  await page.goto(`${explore}/explore#lesson=two-generals&stop=1`);
  await expect(page.getByRole("heading", { name: "May P1 attack at dawn without hearing more?" })).toBeVisible();
  await page.keyboard.press("1");
  await expect(page.locator(".verdict")).toContainText("Then P1 attacks alone.");
  await expect(page.getByText("✓ Correct")).toHaveCount(0);
  await expect(page.getByRole("button", { name: "Continue" })).toHaveCount(0);
  await page.getByRole("button", { name: "show the solution" }).click();
  await expect(page.getByText("✓ Correct")).toBeVisible();
  await expect(page.locator(".verdict")).toContainText("Rule G2");
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page).toHaveURL(/stop=2/);
  await page.goto(`${explore}/explore`);
  await expect(page.getByText("You were at stop 2")).toBeVisible();
  await page.getByRole("link", { name: /^Two generals: there is no last/ }).click();
  await page.getByRole("button", { name: "Continue at stop 2" }).click();
  await expect(page.getByRole("heading", { name: "Is everything settled?" })).toBeVisible();
});

test("a lesson that there is not", async ({ page, explore }) => {
  await page.goto(`${explore}/explore#lesson=paxos`);
  await expect(page.getByRole("alert")).toContainText("There is no lesson “paxos”");
  await page.getByRole("link", { name: "Bully: the largest gets its way" }).click();
  await expect(page.getByRole("button", { name: "Begin", exact: true })).toBeVisible();
});
