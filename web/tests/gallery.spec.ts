import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { exhibit, gallery } from "./api";
import { expect, test } from "./fixtures";

const TRACE = fileURLToPath(new URL("../src/lessons/fixtures/bully.jsonl", import.meta.url));

async function accessible(page: Page) {
  // The small pictures are hidden from those who cannot see them, and there are thousands of lines in them.
  const { violations } = await new AxeBuilder({ page }).exclude(".thumbnail").analyze();
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  expect(serious.map(({ id, nodes }) => ({ id, at: nodes.map(({ target }) => target.join(" ")) }))).toEqual([]);
}

test("the gallery says where to begin, and shows all there is", async ({ page, explore }) => {
  await page.goto(`${explore}/explore`);
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await expect(page.getByRole("link", { name: "Watch the example" })).toHaveAttribute("href", "/explore#exhibit=bully-p1-to-p4");
  const { exhibits } = (await (await page.request.get(`${explore}/v1/explore/gallery`)).json()) as {
    exhibits: { title: string; counterexample: boolean }[];
  };
  await expect(page.getByRole("status").filter({ hasText: `${exhibits.length} runs` })).toBeVisible();
  await page.getByRole("combobox", { name: "Show" }).selectOption("counterexamples");
  const found = exhibits.filter(({ counterexample }) => counterexample);
  await expect(page.getByText("Counterexample", { exact: true })).toHaveCount(found.length);
  await page.getByRole("button", { name: "Mutual exclusion" }).click();
  await expect(page).toHaveURL(/family=mutex&only=counterexamples/);
  await accessible(page);
  await page.reload();
  await expect(page.getByRole("button", { name: "Mutual exclusion" })).toHaveAttribute("aria-pressed", "true");
});

test("runs are found by words and by how they end, and the link keeps both", async ({ page, explore }) => {
  const { exhibits } = await gallery(explore);
  await page.goto(`${explore}/explore`);
  const cards = page.getByRole("heading", { level: 4 });
  await expect(cards).toHaveCount(exhibits.length);
  await page.getByRole("searchbox", { name: "Find" }).fill("suzuki partition");
  await expect(cards).toHaveCount(1);
  await expect(page).toHaveURL(/find=suzuki/);
  await page.getByRole("searchbox", { name: "Find" }).fill("");
  await page.getByRole("combobox", { name: "Show" }).selectOption("violations");
  await expect(page.getByRole("status").filter({ hasText: `of ${exhibits.length} runs` })).toBeVisible();
  const violated = exhibits.filter(({ scenario }) => /^expect violation (?!none)/m.test(scenario));
  const found = violated.length;
  expect(found).toBeGreaterThan(20);
  expect(found).toBeLessThan(exhibits.length);
  await expect(cards).toHaveCount(found);
  const ends = await Promise.all(violated.slice(0, 3).map(({ id }) => exhibit(explore, id)));
  for (const { outcome } of ends) expect(outcome.violation).not.toBeNull();
  await expect(page.locator(".tag")).toHaveCount(found);
  await page.reload();
  await expect(cards).toHaveCount(found);
  await page.getByRole("searchbox", { name: "Find" }).fill("no such run");
  await expect(page.getByText("No run matches these filters.")).toBeVisible();
  await accessible(page);
});

test("every run says in two sentences what to look for, and one can be played", async ({ page, explore }) => {
  const { exhibits } = await gallery(explore);
  expect(exhibits.length).toBeGreaterThan(30);
  await page.goto(`${explore}/explore`);
  await expect(page.getByRole("heading", { level: 4 })).toHaveCount(exhibits.length);
  const cards = await page.getByRole("listitem").evaluateAll((items) =>
    items.map((item) => ({ link: item.querySelector("a")?.getAttribute("href"), text: item.textContent ?? "" })));
  for (const { id, title, look } of exhibits) {
    const card = cards.find(({ link }) => link === `/explore#exhibit=${id}`);
    expect(card?.text, id).toContain(title);
    expect(card?.text, id).toContain(look);
    expect(look.match(/[.!?:;](?=\s|$)/g)?.length, `${id}: ${look}`).toBeGreaterThanOrEqual(2);
  }
  await page.getByRole("link", { name: "Watch the example" }).click();
  await page.getByRole("button", { name: "Play" }).click();
  await expect(page.getByRole("button", { name: "Pause" })).toBeVisible();
});

test("the gallery opens without the explorer's code", async ({ page, explore }) => {
  const scripts: string[] = [];
  page.on("request", (request) => request.resourceType() === "script" && scripts.push(request.url()));
  await page.goto(`${explore}/explore`);
  await expect(page.getByRole("heading", { name: "Lessons" })).toBeVisible();
  expect(scripts.filter((url) => /gallery|index/.test(url))).not.toEqual([]);
  expect(scripts.filter((url) => /explorer-|player-/.test(url))).toEqual([]);
});

test("a run of one's own: from the form, by hand, and with a mistake", async ({ page, explore, faults }) => {
  await page.goto(`${explore}/explore#new`);
  await page.getByRole("combobox", { name: "Family" }).selectOption("mutex");
  await page.getByRole("combobox", { name: "Algorithm" }).selectOption("raymond");
  await page.getByLabel("How many").fill("7");
  await page.getByRole("button", { name: "Add a fault" }).click();
  const text = page.getByRole("textbox", { name: "Scenario" });
  await expect(text).toHaveValue(/^cluster raymond 1\.\.7 .*\ncrash 7 at=0ms\n/);
  await accessible(page);

  faults.allow(/422/);
  await text.fill("cluster raymond 1..7\nwork 1 9\nrun\n");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page.getByRole("alert")).toContainText("there is no process 9");
  await page.getByRole("button", { name: "Go to line 2" }).click();
  const chosen = await text.evaluate((area: HTMLTextAreaElement) => area.value.slice(area.selectionStart, area.selectionEnd));
  expect(chosen).toBe("work 1 9");

  await page.getByRole("button", { name: "Discard my edits" }).click();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page).toHaveURL(/#s=/);
  await expect(page.getByRole("heading", { level: 1 })).toContainText("7 processes");
});

test("files: what can be opened is, and what cannot says why", async ({ page, explore, faults }) => {
  const trace = readFileSync(TRACE);
  const open = async (name: string, buffer: Buffer) => {
    await page.goto(`${explore}/explore`);
    await page.getByRole("link", { name: "Open a scenario or a trace" }).click();
    await page.getByLabel("Choose a file").setInputFiles({ name, mimeType: "text/plain", buffer });
  };
  await open("whole.jsonl", trace);
  await expect(page).toHaveURL(/#t=/);
  await open("short.jsonl", trace.subarray(0, 3_000));
  await expect(page.getByText("it was cut short")).toBeVisible();
  await page.goto(`${explore}/explore#open`);
  for (const [name, buffer, says] of [
    ["later.jsonl", Buffer.from(trace.toString().replace("trace/1", "trace/9")), "another version, bellwether.trace/9"],
    ["picture.png", Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0xff]), "not a text file"],
    ["nothing.txt", Buffer.alloc(0), "The file is empty"],
    ["large.txt", Buffer.alloc(21 * 1024 * 1024, "#"), "opens up to 20 MB"],
    ["diary.txt", Buffer.from("Dear diary"), "neither a scenario nor a trace"],
  ] as const) {
    await page.getByLabel("Choose a file").setInputFiles({ name, mimeType: "text/plain", buffer });
    await expect(page.getByRole("alert")).toContainText(`Cannot open ${name}.`);
    await expect(page.getByRole("alert")).toContainText(says);
  }
  await accessible(page);
  faults.allow(/422/);
  await page.getByLabel("Or paste the text").fill("cluster bully 1..4\ncrash 9\n");
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await expect(page.getByRole("alert")).toContainText("there is no process 9");
  await page.getByLabel("Or paste the text").fill("cluster bully 1..4\ncrash 4\nsuspect 2\nrun\n");
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await expect(page).toHaveURL(/#s=/);
});
