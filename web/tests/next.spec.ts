import { BULLY } from "./api";
import { Explorer } from "./explorer";
import { expect, test } from "./fixtures";

test("what happens next can be chosen, and the run goes another way", async ({ page, explore, another }) => {
  const view = new Explorer(page);
  await page.goto(`${explore}/explore#exhibit=${BULLY}&at=6`);
  await page.getByText("Choose what happens next").click();
  const next = page.locator(".next");
  const message = next.getByRole("listitem").filter({ hasText: "P2 → P3: ELECTION" });
  await expect(message.getByRole("button")).toHaveText(["Deliver now", "Deliver twice", "Lose"]);
  await message.getByRole("button", { name: "Lose" }).click();
  await expect(view.runs).toHaveCount(2);
  await expect(view.runs.nth(1)).toContainText("message P2 → P3 lost at 0ms");
  await expect(view.now).toContainText("0.001ms");
  // The branch is in the link, and a friend sees the same.
  await expect(page).toHaveURL(/b=0\.0\.lose_2/);
  const friend = await another();
  await friend.goto(page.url());
  await expect(new Explorer(friend).runs.nth(1)).toContainText("message P2 → P3 lost at 0ms");
});

test("a timer can be made to fire before its time", async ({ page, explore }) => {
  const view = new Explorer(page);
  await page.goto(`${explore}/explore#exhibit=${BULLY}&at=6`);
  await page.getByText("Choose what happens next").click();
  await page.getByRole("listitem").filter({ hasText: "Timer of P2" }).getByRole("button", { name: "Fire now" }).first().click();
  await expect(view.runs.nth(1)).toContainText("timer of P2 fires at 0ms");
});

test("the checker says what could go wrong from here, and shows it as a branch", async ({ page, explore }) => {
  const view = new Explorer(page);
  await page.goto(`${explore}/explore#exhibit=${BULLY}&at=6`);
  await page.getByText("Choose what happens next").click();
  await page.getByRole("button", { name: "What could go wrong from here?" }).click();
  await expect(view.runs).toHaveCount(2, { timeout: 60_000 });
  await expect(page.getByText(/one-coordinator can be violated in \d+ steps.*time-outs that lie/)).toBeVisible();
  await expect(page.getByText("one-coordinator violated", { exact: false }).first()).toBeVisible();
});
