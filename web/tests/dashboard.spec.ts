import type { Page } from "@playwright/test";
import { expect, test } from "./fixtures";
import { Cluster } from "./servers";

let cluster: Cluster;
test.beforeEach(async () => {
  cluster = await Cluster.start();
});
// The page first: a member that ends while it is looked at is a fault.
test.afterEach(async ({ page }) => {
  await page.close();
  await cluster.stop();
});

const coordinator = (page: Page) => page.getByRole("region", { name: "Coordinator" });
const row = (page: Page, id: number) => page.getByRole("row", { name: new RegExp(`^${id}\\b`) });
const act = (page: Page, words: string) => page.getByRole("button", { name: words, exact: true });
/** What a browser says about a member that is gone. */
const gone = (id: number) => new RegExp(`${cluster.members.get(id)}/`);

/** When the page and when the API first name another member than `old`, in milliseconds from now. */
async function successor(page: Page, old: number, asked: number) {
  const began = performance.now();
  const api = async () => {
    for (;;) {
      const leader = await cluster.coordinator(asked);
      if (leader !== null && leader !== old) return { leader, ms: performance.now() - began };
      await new Promise((done) => setTimeout(done, 5));
    }
  };
  const shown = async () => {
    const found = await page.waitForFunction((old) => {
      const text = document.querySelector(".coordinator .who")?.textContent ?? "";
      const leader = Number(/Member (\d+)/.exec(text)?.[1]);
      return leader && leader !== old ? leader : null;
    }, old);
    return { leader: Number(await found.jsonValue()), ms: performance.now() - began };
  };
  const [told, seen] = await Promise.all([api(), shown()]);
  return { told, seen };
}

test("a coordinator is killed, and the next is named within a second of the API", async ({ page, faults }) => {
  await page.goto(cluster.dashboard);
  await expect(coordinator(page)).toContainText("Member 5");
  faults.allow(gone(5));
  const next = successor(page, 5, 2);
  await act(page, "Kill member 5").click();
  const { told, seen } = await next;
  expect(seen.leader).toBe(told.leader);
  expect(seen.ms - told.ms).toBeLessThan(1_000);
  test.info().annotations.push({ type: "measured", description: `API ${told.ms.toFixed(0)} ms, page ${seen.ms.toFixed(0)} ms` });
  await expect(page.getByRole("region", { name: "Elections" })).toContainText(/member 4 after member 5.*the process of P5 has ended/s);
  await expect(page.getByRole("status").filter({ hasText: "Member 4 coordinates in term" })).toBeAttached();
});

test("the page of the very member that is killed goes on with another", async ({ page, faults }) => {
  await page.goto(cluster.members.get(5) ?? "");
  await expect(coordinator(page)).toContainText("Member 5");
  await expect(page.getByText("Live from member 5")).toBeVisible();
  faults.allow(gone(5));
  const next = successor(page, 5, 2);
  await cluster.tell("kill 5", /killed member 5/);
  const { told, seen } = await next;
  expect(seen.leader).toBe(told.leader);
  expect(seen.ms - told.ms).toBeLessThan(1_000);
  test.info().annotations.push({ type: "measured", description: `API ${told.ms.toFixed(0)} ms, page ${seen.ms.toFixed(0)} ms` });
  await expect(page.getByText(/Member 5 does not answer\. Now talking to member \d/).first()).toBeVisible();
  await expect(row(page, 5)).toContainText("silent");
});

test("a member that is stopped is left, and can be chosen again when it goes on", async ({ page, faults }) => {
  await page.goto(cluster.members.get(1) ?? "");
  await expect(page.getByText("Live from member 1")).toBeVisible();
  faults.allow(gone(1));
  await cluster.tell("pause 1", /paused member 1/);
  await expect(page.getByText(/Member 1 has said nothing for a while\. Now talking to member \d/).first()).toBeVisible();
  await cluster.tell("resume 1", /resumed member 1/);
  await page.getByLabel("Seen by").selectOption("member 1");
  await expect(page.getByText("Live from member 1")).toBeVisible();
});

test("everything a member says is there", async ({ page }) => {
  await page.goto(cluster.members.get(3) ?? "");
  const panel = coordinator(page);
  await expect(panel).toContainText(/Term\s*1/);
  await expect(panel).toContainText("holds while 3 of 5 agree");
  await expect(panel).toContainText(/0\.\d s left/);
  for (const id of [1, 2, 4, 5]) {
    await expect(row(page, id)).toContainText("alive");
    await expect(row(page, id)).toContainText(/\d+ ms|\d s/);
    await expect(row(page, id)).toContainText("µs");
  }
  await expect(page.getByRole("region", { name: "Elections" })).toContainText(/no other member answered since the start|it was already the coordinator|another member called an election/);
  const live = page.getByRole("region", { name: "Live messages" });
  await expect(live).toContainText(/HEARTBEAT\s+[\d.]+\/s/);
  await expect(live.getByRole("row", { name: /^P5 / })).toContainText(/\d/);
  await expect(page.getByText("operators can cut this member off and crash it over HTTP")).toBeVisible();
  // Only the page of the operator who started the members can break them.
  await expect(act(page, "Kill member 5")).toHaveCount(0);
  await expect(page.getByRole("link", { name: "its own page" })).toHaveAttribute("href", cluster.dashboard.replace(/#.*/, ""));
});

test("members are killed, revived, paused, cut off and healed by buttons", async ({ page, faults }) => {
  faults.allow(gone(1), gone(2), gone(5));
  await page.goto(cluster.dashboard);
  await expect(coordinator(page)).toContainText("Member 5");
  await expect(act(page, "Heal")).toBeDisabled();

  await act(page, "Kill member 2").click();
  await expect(row(page, 2)).toContainText("killed");
  await expect(page.getByRole("status").filter({ hasText: "killed member 2" })).toBeVisible();
  await expect(act(page, "Pause member 2")).toBeDisabled();
  await expect(act(page, "Cut off member 2")).toBeDisabled();
  await act(page, "Revive member 2").click();
  await expect(row(page, 2)).toContainText("alive");

  await act(page, "Pause member 1").click();
  await expect(row(page, 1)).toContainText("paused");
  await act(page, "Resume member 1").click();
  await expect(row(page, 1)).toContainText("alive");

  await act(page, "Cut off member 5").click();
  await expect(coordinator(page)).toContainText("Member 4");
  await expect(page.getByText("Partition: 5 | 1,2,3,4.")).toBeVisible();
  await act(page, "Heal").click();
  await expect(coordinator(page)).toContainText("Member 5");
  await expect(act(page, "Heal")).toBeDisabled();
});

test("a partition is made by choosing a side; the smaller one has no mandate", async ({ page }) => {
  await page.goto(cluster.dashboard);
  await expect(act(page, "Partition")).toBeDisabled();
  for (const id of ["4", "5"]) await page.getByLabel(id, { exact: true }).check();
  await act(page, "Partition 4,5 | 1,2,3").click();
  await expect(coordinator(page)).toContainText("Member 3");
  await page.getByLabel("Seen by").selectOption("member 5");
  await expect(coordinator(page)).toContainText("None");
  await expect(coordinator(page)).toContainText("2 of the 3 members needed agree");
});

test("a member that is not understood is named, and another one speaks", async ({ page }) => {
  await page.route(`${cluster.members.get(1)}/v1/watch`, (route) =>
    route.fulfill({
      contentType: "text/event-stream",
      headers: { "access-control-allow-origin": "*" },
      body: 'data: {"status":{"cluster":7}}\n\n',
    }));
  await page.goto(cluster.dashboard);
  await expect(page.getByText(/says something that this page does not understand/)).toBeVisible();
  await expect(page.getByText("Live from member 2")).toBeVisible();
  await expect(coordinator(page)).toContainText("Member 5");
});

test("a member of another version is shown as far as it is understood", async ({ page, faults }) => {
  faults.allow(/v1\/watch/);
  const answer = await fetch(`${cluster.members.get(2)}/v1/watch`);
  const reader = answer.body?.getReader();
  const first = new TextDecoder().decode((await reader?.read())?.value);
  await reader?.cancel();
  const later = first.replace(/"version":"[^"]*"/, '"version":"9.9.9"').replace('"health":"alive"', '"health":"splendid"');
  await page.route("**/v1/watch", (route) =>
    route.fulfill({ contentType: "text/event-stream", headers: { "access-control-allow-origin": "*" }, body: later }));
  await page.goto(cluster.dashboard);
  await expect(page.getByText("Member 2 runs version 9.9.9")).toBeVisible();
  await expect(row(page, 1)).toContainText("splendid");
});

test("when the whole cluster ends the page says so and keeps what it knew", async ({ page, faults }) => {
  await page.goto(cluster.dashboard);
  await expect(coordinator(page)).toContainText("Member 5");
  faults.allow(/127\.0\.0\.1/);
  await cluster.stop();
  await expect(page.getByText("No member answers. What is shown is old")).toBeVisible();
  await act(page, "Kill member 5").click();
  await expect(page.getByText("Not done: The server does not answer.")).toBeVisible();
  await page.getByRole("link", { name: "Explorer" }).click();
  await expect(page.getByRole("link", { name: "Dashboard" })).toBeVisible();
});

test("without a cluster the page says how to start one", async ({ page, explore }) => {
  await page.goto(`${explore}/`);
  await expect(page.getByRole("heading", { name: "No cluster here" })).toBeVisible();
  await expect(page.getByText("bellwether up", { exact: true })).toBeVisible();
});
