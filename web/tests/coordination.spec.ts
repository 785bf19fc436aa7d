import type { Page } from "@playwright/test";
import { busy, crowd, deadlock, coordination, holder, lock, session, waiter, waits } from "../src/dashboard/coordination/fakes";
import { FakeMember, TOKEN } from "./fake-member";
import { expect, test } from "./fixtures";
import { expectReadable } from "./readable";

let member: FakeMember;
test.afterEach(async ({ page }) => {
  // The page goes first: it would complain that its server is gone.
  await page.goto("about:blank");
  await member.stop();
});

const region = (page: Page, name: string) => page.getByRole("region", { name, exact: true });
const row = (page: Page, name: RegExp) => region(page, "Locks").getByRole("row", { name });
const forceRelease = (page: Page, what: string) => page.getByRole("button", { name: `Force-release ${what}` });

/** Opens the dashboard and looks at the coordination. */
async function look(page: Page, url = `${member.url}/#operator=${TOKEN}`) {
  await page.goto(url);
  await page.getByRole("heading", { name: "At work for clients" }).evaluate((heading) => heading.scrollIntoView());
}

test("everything is there: roles, sessions, locks, who waits for whom, deadlocks", async ({ page }) => {
  member = await FakeMember.start();
  member.say(busy());
  await look(page);
  await expect(page.getByText("7 sessions, 3 roles, 5 locks, 4 waiting, as the copy of member 1 has it.")).toBeVisible();

  const roles = region(page, "Roles");
  await expect(roles).toContainText(/billing\s+by priority, a leader yields.*billing-1 s3\.4\s+token 12884901901\s+proclaims 10\.0\.0\.4:9000/);
  await roles.getByText("2 candidates, 2 changes").click();
  await expect(roles).toContainText(/1\. billing-1 s3\.4 leads priority 10.*2\. billing-2 s3\.5 priority 5/);
  await expect(roles).toContainText("session s3.5 resigned");
  await expect(roles).toContainText(/nightly.*It has no leader/);

  await expect(region(page, "Sessions").getByRole("row", { name: /^billing-2 s3.5/ })).toContainText(/10 s.*waits for backup, upload-slots\s*campaigns for billing/);
  await expect(row(page, /^backup/)).toContainText(/exclusive.*nightly-backup s3\.1\s*token 12884901930.*1\. report.*2\. billing-2/);
  await expect(row(page, /^ledger/)).toContainText(/shared.*billing-1.*importer.*none/);
  await expect(row(page, /^upload-slots/)).toContainText(/semaphore, 4 of 4 taken.*mailer s3\.8\s*2 permits.*1\. billing-2 s3\.5 1 permit/);

  const graph = region(page, "Wait-for graph");
  await expect(graph).toContainText("2 sessions wait in a cycle.");
  await expect(graph.getByRole("img")).toHaveAttribute("aria-label", /migrate \(s3\.7\) waits for importer \(s3\.9\): tables \(in a cycle\)/);
  await expect(graph.locator("g.node.stuck")).toHaveCount(2);
  await graph.getByText("The same in words").click();
  await expect(graph.getByText("report (s3.2) waits for nightly-backup (s3.1): backup")).toBeVisible();

  await expect(region(page, "Deadlocks")).toContainText(/only reported.*s3\.9 \(importer\) waits for 'schema' behind s3\.7.*The request of billing-2 s3\.5 was aborted/);
  await expectReadable(page);
});

test("updates move neither the focus nor what is open", async ({ page }) => {
  member = await FakeMember.start();
  member.say(busy());
  await look(page);
  const roles = region(page, "Roles");
  await roles.getByText("2 candidates, 2 changes").click();
  const button = forceRelease(page, "schema");
  await button.focus();
  const before = await button.boundingBox();
  // Others come before and after, and one of two holders goes.
  const next = busy();
  next.locks.splice(0, 0, lock("aaa", [holder("s3.2")]));
  next.locks.push(lock("zzz", [holder("s3.2")]));
  next.roles.unshift({ ...busy().roles[1]!, name: "aaa" });
  next.deadlocks.unshift(deadlock([["s3.1", "x"], ["s3.2", "y"]], "s3.2", "2026-11-16T12:00:00Z"));
  member.say(next);
  await expect(row(page, /^zzz/)).toBeAttached();
  await expect(button).toBeFocused();
  await expect(roles.getByText("session s3.5 resigned")).toBeVisible();
  await expect(page.getByRole("status").filter({ hasText: "A deadlock was found: s3.1" })).toBeAttached();
  const after = await button.boundingBox();
  // The row before it came in the same list; nothing else has moved.
  const height = (await row(page, /^aaa/).boundingBox())?.height ?? 0;
  expect(Math.abs((after?.y ?? 0) - (before?.y ?? 0))).toBeLessThanOrEqual(height + 1);
});

test("if the row with the focus goes, the list has it", async ({ page }) => {
  member = await FakeMember.start();
  member.say(busy());
  await look(page);
  await forceRelease(page, "schema").focus();
  member.say({ ...busy(), sequence: 42, locks: busy().locks.filter(({ name }) => name !== "schema") });
  await expect(row(page, /^schema/)).toHaveCount(0);
  await expect(region(page, "Locks").getByRole("group", { name: "Locks" })).toBeFocused();
});

test("ten thousand locks: the first are shown, the others are found", async ({ page }) => {
  member = await FakeMember.start();
  member.say(crowd(10_000));
  await look(page);
  const rows = region(page, "Locks").getByRole("row");
  await expect(page.getByText("1,000 locks, 0 waiting, and 9,000 more that it leaves out")).toBeVisible();
  await expect(page.getByText("The first 200 of 1,000 locks are shown.")).toBeVisible();
  await expect(rows).toHaveCount(201);
  await page.getByLabel("Filter").fill("JOB/00999");
  await expect(rows).toHaveCount(11);
  await expect(row(page, /^job\/009999/)).toBeVisible();
  await page.getByLabel("Filter").fill("job");
  await expect(page.getByText("The first 200 of 10,000 locks are shown.")).toBeVisible();
  await page.getByLabel("Filter").fill("nothing like it");
  await expect(region(page, "Locks")).toContainText("No lock fits the filter.");
  await page.getByLabel("Filter").fill("");
  await expect(rows).toHaveCount(201);
});

test("contended locks can be seen alone", async ({ page }) => {
  member = await FakeMember.start();
  const long = Array.from({ length: 150 }, (_, place) => waiter(`s3.${place + 10}`, place));
  member.say(coordination({ sessions: [session("s3.1")], locks: [lock("a", [holder("s3.1")]), lock("b", [holder("s3.1")], long)] }));
  await look(page);
  await page.getByLabel("Only contended locks").check();
  await expect(region(page, "Locks").getByRole("row")).toHaveCount(2);
  await row(page, /^b/).getByText("147 more").click();
  await expect(row(page, /^b/)).toContainText(/100\. client-109.*and 50 more/);
});

test("of a large graph the most entangled are drawn", async ({ page }) => {
  member = await FakeMember.start();
  const queue = Array.from({ length: 499 }, (_, place): [string, string, string] => [`s4.${place + 2}`, `s4.${place + 1}`, "q"]);
  member.say(coordination({ sessions: [session("s4.1")], waits: waits(...queue, ["s9.1", "s9.2", "a"], ["s9.2", "s9.1", "b"]) }));
  await look(page);
  const graph = region(page, "Wait-for graph");
  await expect(graph).toContainText("The 30 most entangled of 502 sessions are shown.");
  await expect(graph.locator("g.node")).toHaveCount(30);
  await expect(graph.locator("g.node.stuck")).toHaveCount(2);
  await page.getByLabel("Filter").fill("s4.400");
  await expect(graph.locator("g.node")).toHaveCount(3);
});

test("a lock is force-released, by keyboard, after saying what that means", async ({ page }) => {
  member = await FakeMember.start();
  member.say(busy());
  await look(page);
  const button = forceRelease(page, "ledger/2026 from importer (s3.9)");
  await button.focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: /Force-release ledger\/2026 from importer s3\.9\?/ });
  await expect(dialog).toContainText("The holder may not know.");
  await expect(dialog).toContainText("12884901922");
  await expectReadable(page);
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
  await expect(button).toBeFocused();
  expect(member.forced).toEqual([]);

  await page.keyboard.press("Enter");
  await expect(dialog.getByLabel("Who does this, and why")).toBeFocused();
  await expect(dialog.getByRole("button", { name: "Force-release it" })).toBeDisabled();
  await page.keyboard.type("ada: importer hangs");
  await page.keyboard.press("Enter");
  await expect(page.getByText("ledger/2026 was force-released from importer (s3.9).")).toBeVisible();
  expect(member.forced).toEqual([{ lock: "ledger/2026", session: "s3.9", by: "ada: importer hangs" }]);
  await expect(row(page, /^ledger/)).not.toContainText("importer");
  await expect(region(page, "Locks").getByRole("group", { name: "Locks" })).toBeFocused();
});

test("a refused force-release is told, and nothing is closed", async ({ page, faults }) => {
  member = await FakeMember.start();
  member.refuses = "s3.1 does not hold the lock 'backup'";
  member.say(busy());
  await look(page);
  faults.allow(/force/);
  await forceRelease(page, "backup").click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Who does this, and why").fill("ada");
  await dialog.getByRole("button", { name: "Force-release it" }).click();
  await expect(dialog.getByRole("alert")).toContainText("Not done: s3.1 does not hold the lock 'backup' (look again)");
  // Meanwhile its holder has given it back.
  member.say({ ...busy(), sequence: 42, locks: [] });
  await expect(dialog).toContainText("It does not hold this lock any more.");
  await expect(dialog.getByRole("button", { name: "Force-release it" })).toBeDisabled();
});

test("on the page of bellwether up no lock can be force-released; it says where", async ({ page }) => {
  member = await FakeMember.start({ up: true });
  member.say(busy());
  await look(page);
  await expect(row(page, /^backup/)).toBeVisible();
  await expect(forceRelease(page, "backup")).toHaveCount(0);
  await expect(page.getByRole("link", { name: "page of a member" })).toHaveAttribute("href", `${member.url}/#operator=${TOKEN}`);
});

test("without the operator token it is asked for, and a wrong one is asked for again", async ({ page, faults }) => {
  member = await FakeMember.start();
  member.say(busy());
  await look(page, member.url);
  faults.allow(/force/);
  await forceRelease(page, "backup").click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Who does this, and why").fill("ada");
  const button = dialog.getByRole("button", { name: "Force-release it" });
  await expect(button).toBeDisabled();
  await dialog.getByLabel("Operator token").fill("short");
  await expect(dialog).toContainText("It has thirty-two hexadecimal digits.");
  await dialog.getByLabel("Operator token").fill("f".repeat(32));
  await button.click();
  await expect(dialog.getByRole("alert")).toContainText("Not done: only operators may do this");
  expect(member.forced).toEqual([]);
  await expectReadable(page);
  await dialog.getByLabel("Operator token").fill(TOKEN);
  await button.click();
  await expect(page.getByText("backup was force-released from")).toBeVisible();
  // It is known after the page was loaded again.
  await page.reload();
  await forceRelease(page, "ledger/2026 from importer (s3.9)").click();
  await expect(dialog.getByLabel("Operator token")).toHaveCount(0);
});

test("the coordination state is only asked for while it is in view", async ({ page }) => {
  member = await FakeMember.start();
  member.say(busy());
  await page.setViewportSize({ width: 390, height: 600 });
  await page.goto(member.url);
  await expect(page.getByRole("region", { name: "Coordinator" })).toContainText("Member 1");
  expect(member.listeners).toBe(0);
  await look(page);
  await expect(row(page, /^backup/)).toBeAttached();
  expect(member.listeners).toBe(1);
  await page.getByRole("heading", { level: 1 }).evaluate((heading) => heading.scrollIntoView());
  await expect.poll(() => member.listeners).toBe(0);
  // What was known stays, so nothing jumps.
  await expect(row(page, /^backup/)).toBeAttached();
});

test("a member of an older version is not asked, and the panel says so", async ({ page }) => {
  member = await FakeMember.start({ old: true });
  await look(page);
  await expect(page.getByText(/Member 1 runs version .*, which has no sessions, roles or locks\./)).toBeVisible();
  expect(member.listeners).toBe(0);
});

test("without clients it says how to begin", async ({ page }) => {
  member = await FakeMember.start();
  await look(page);
  await expect(page.getByText("bellwether lock backup -- ./backup")).toBeVisible();
  await expect(page.getByText("bellwether campaign cron -- ./job")).toBeVisible();
  await expectReadable(page);
  member.say(coordination({ sessions: [session("s3.1")] }));
  await expect(region(page, "Roles")).toContainText("bellwether campaign");
  await expect(region(page, "Locks")).toContainText("bellwether lock");
  await expect(region(page, "Deadlocks")).toContainText("None has been found.");
});

test("what is not understood is told, and the rest of the page goes on", async ({ page }) => {
  member = await FakeMember.start();
  member.say({ ...coordination(), locks: [{ name: 7 }] } as never);
  await look(page);
  await expect(page.getByText("does not understand what the member says of its coordination state: locks.name is number")).toBeVisible();
  await expect(page.getByRole("region", { name: "Coordinator" })).toContainText("Member 1");
});
