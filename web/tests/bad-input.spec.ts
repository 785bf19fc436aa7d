import { BULLY } from "./api";
import { Explorer } from "./explorer";
import { expect, test } from "./fixtures";
import { startExplore } from "./servers";
import { pack } from "../src/run/links";

/** What the server refuses, the browser writes to its console; the page has to say it to the viewer. */
const REFUSED = [/console: Failed to load resource: the server responded with a status of 4\d\d/, /response: .* 4\d\d/];

test("a link to a run that the gallery does not have", async ({ page, explore }) => {
  await page.goto(`${explore}/explore#exhibit=bully-p1-to-p9`);
  await expect(page.getByText("The gallery has no run called bully-p1-to-p9.")).toBeVisible();
  await page.getByRole("link", { name: /Explorer|Gallery/ }).first().click();
  await expect(page.getByRole("link", { name: "Watch the example" })).toBeVisible();
});

test("a link with an unknown algorithm says so, and the scenario can be corrected", async ({ page, explore, faults }) => {
  faults.allow(...REFUSED);
  await page.goto(`${explore}/explore#s=${await pack("cluster bullly 1..4\ncrash 4\nsuspect 2\nrun\n")}`);
  await expect(page.getByText(/bullly/).first()).toBeVisible();
  await page.getByLabel("Scenario").fill("cluster bully 1..4\ncrash 4\nsuspect 2\nrun\n");
  await page.getByRole("button", { name: "Run this scenario" }).click();
  await expect(new Explorer(page).button("Play")).toBeVisible();
});

test("broken parameters are named, and what is left of the link is shown", async ({ page, explore }) => {
  await page.goto(`${explore}/explore#exhibit=${BULLY}&at=many&b=nonsense&run=7&colour=red`);
  for (const said of ["at=many", "Branch 1 of the link", "run=7", "colour"]) {
    await expect(page.getByText(said).first()).toBeVisible();
  }
  await expect(new Explorer(page).button("One event forward")).toBeEnabled();
});

test("a branch that the server refuses leaves the original", async ({ page, explore, faults }) => {
  faults.allow(...REFUSED);
  await page.goto(`${explore}/explore#exhibit=${BULLY}&b=0.5000.crash_99&run=1`);
  await expect(page.getByText(/cannot be played/).first()).toBeVisible();
  await expect(new Explorer(page).button("One event forward")).toBeEnabled();
});

test("a packed scenario that was cut short", async ({ page, explore }) => {
  const whole = await pack("cluster bully 1..4\ncrash 4\nsuspect 2\nrun\n");
  await page.goto(`${explore}/explore#s=${whole.slice(0, -9)}`);
  await expect(page.getByText(/cannot be unpacked/)).toBeVisible();
  await expect(page.getByRole("link", { name: "Explorer" })).toBeVisible();
});

test("the server goes away: the page says so, keeps the run, and goes on when it is back", async ({ page, faults }) => {
  test.skip(process.env["BASE_URL"] !== undefined, "this server is not ours to end");
  const server = await startExplore();
  const view = new Explorer(page);
  await page.goto(`${server.url}/explore#exhibit=${BULLY}&at=7`);
  await expect(view.button("Play")).toBeVisible();
  faults.allow(/ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_SOCKET_NOT_CONNECTED|ERR_EMPTY_RESPONSE/);
  await server.stop();
  await view.doTo("P3", "Crash");
  await expect(page.getByText("The server does not answer.").first()).toBeVisible();
  await view.button("One event forward").click();
  expect((await view.place()).step).toBe(8);
  const again = await startExplore(new URL(server.url).host);
  await view.doTo("P3", "Crash");
  await expect(view.runs).toHaveCount(2);
  await again.stop();
});
