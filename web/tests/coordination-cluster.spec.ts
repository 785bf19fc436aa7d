import type { Page } from "@playwright/test";
import { expect, test } from "./fixtures";
import { Cluster } from "./servers";

// The coordination state of a real cluster, as its clients make it over HTTP.

let cluster: Cluster;
test.beforeEach(async () => {
  cluster = await Cluster.start();
  const { status } = await fetch(`${member(1)}/v1/coordination`);
  test.skip(status === 404, "this command knows of no coordination state");
});
// The page goes first: it would see its streams break off.
test.afterEach(async ({ page }) => {
  await page.close();
  await cluster.stop();
});

const member = (id: number) => cluster.members.get(id) ?? "";
const region = (page: Page, name: string) => page.getByRole("region", { name, exact: true });

/** The keys of the sessions that were opened. */
const keys = new Map<string, string>();
const bearer = (secret: string) => ({ "authorization": `Bearer ${secret}` });

async function post<T>(path: string, body: unknown, session = ""): Promise<T> {
  const answer = await fetch(`${member(2)}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...bearer(keys.get(session) ?? cluster.token) },
    body: JSON.stringify(body),
  });
  return (await answer.json()) as T;
}

async function open(client: string): Promise<string> {
  const { session, key } = await post<{ session: string; key: string }>("/v1/sessions", { client, ttl_ms: 60_000 });
  keys.set(session, key);
  return session;
}

const lock = (session: string, name: string) =>
  post<{ token?: number; error?: string }>(`/v1/sessions/${session}/locks`, { locks: [{ name }], wait_ms: 50_000 }, session);

test("what clients have and want is shown, and a lock is force-released", async ({ page }) => {
  const [one, two] = [await open("nightly"), await open("report")];
  const { token } = await lock(one, "backup");
  const waits = lock(two, "backup");
  await post("/v1/roles/cron/campaign", { session: one, value: "here" }, one);
  await post("/v1/roles/cron/campaign", { session: two }, two);

  await page.goto(`${member(1)}/#operator=${cluster.token}`);
  await page.getByRole("heading", { name: "At work for clients" }).evaluate((heading) => heading.scrollIntoView());
  // It is not for those who look over a shoulder.
  expect(page.url()).not.toContain(cluster.token);
  const backup = region(page, "Locks").getByRole("row", { name: /^backup/ });
  await expect(backup).toContainText(new RegExp(`nightly ${one}\\s*token ${token}.*1\\. report ${two}`));
  await expect(region(page, "Roles")).toContainText(new RegExp(`cron\\s+first come.*nightly ${one}.*proclaims here`));
  await expect(region(page, "Wait-for graph").getByRole("img")).toHaveAttribute("aria-label", /report .* waits for nightly .*: backup/);

  await backup.getByRole("button", { name: /^Force-release backup from nightly/ }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Who does this, and why").fill("the browser test");
  await dialog.getByRole("button", { name: "Force-release it" }).click();
  await expect(page.getByText(`backup was force-released from nightly (${one}).`)).toBeVisible();
  expect((await waits).token).toBeGreaterThan(token ?? Infinity);
  await expect(backup).toContainText(new RegExp(`report ${two}.*none`));
});

test("two that lock a, b and b, a are told of their deadlock, and so is the page", async ({ page }) => {
  const [one, two] = [await open("left"), await open("right")];
  await lock(one, "a");
  await lock(two, "b");
  const waits = lock(one, "b");
  await page.goto(member(1));
  await page.getByRole("heading", { name: "At work for clients" }).evaluate((heading) => heading.scrollIntoView());
  await expect(region(page, "Wait-for graph").getByRole("img")).toHaveAttribute("aria-label", /left .* waits for right .*: b/);
  expect((await lock(two, "a")).error).toContain("deadlock");
  await expect(region(page, "Deadlocks")).toContainText(new RegExp(`The request of right ${two} was aborted.*${one} \\(left\\) waits for 'b' behind ${two}`));
  await fetch(`${member(2)}/v1/sessions/${two}`, { method: "DELETE", headers: bearer(keys.get(two) ?? "") });
  expect((await waits).token).toBeGreaterThan(0);
});
