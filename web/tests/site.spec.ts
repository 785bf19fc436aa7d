import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { ExplorerModule } from "../src/site/module";
import { BULLY, gallery } from "./api";
import { Explorer } from "./explorer";
import { expect, test } from "./fixtures";
import { binary, startExplore } from "./servers";

const SITE = fileURLToPath(new URL("../../out/site/", import.meta.url));
/** How many bytes the whole site may have, compressed. */
const SITE_MAX = 2_000_000;
/** How many bytes all scripts may have, compressed. */
const SCRIPTS_MAX = 120_000;

test("every run of the module is byte for byte that of the command line", async ({ explore }) => {
  test.setTimeout(600_000);
  const name = readdirSync(join(SITE, "assets")).find((file) => file.endsWith(".wasm"))!;
  const module = new ExplorerModule(new WebAssembly.Module(readFileSync(join(SITE, "assets", name))));
  const folder = mkdtempSync(join(tmpdir(), "bellwether-site-"));
  try {
    const { exhibits } = await gallery(explore, true);
    expect(exhibits.length).toBeGreaterThan(100);
    for (const { id, scenario } of exhibits) {
      const { status, body } = module.answer("/v1/explore/run", JSON.stringify({ scenario }));
      expect(status, id).toBe(200);
      const [header, ...events] = trace(folder, scenario);
      const expected = `,"header":${header},"events":[${events.join(",")}],"outcome":`;
      expect(new TextDecoder().decode(body).includes(expected), id).toBe(true);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** The lines of the trace that the command line writes. */
function trace(folder: string, scenario: string): string[] {
  const [file, out] = [join(folder, "scenario.txt"), join(folder, "trace.jsonl")];
  writeFileSync(file, scenario);
  try {
    execFileSync(binary(), ["sim", file, "--quiet", "--trace", "json", "--states", "--out", out], { stdio: "ignore" });
  } catch (error) {
    // A run that breaks an invariant ends with 1, and is meant to.
    if ((error as { status?: number }).status !== 1) throw error;
  }
  return readFileSync(out, "utf8").trimEnd().split("\n");
}

test("a mistake of ours ends one run, and the next one works", () => {
  const broken = new ExplorerModule(trap());
  for (let round = 0; round < 2; round++) {
    const { status, body } = broken.answer("/v1/explore/run", "{}");
    expect(status).toBe(500);
    expect(new TextDecoder().decode(body)).toContain("unreachable");
  }
});

/** A module with the same exports, of which `ask` fails. */
function trap(): WebAssembly.Module {
  const section = (id: number, ...bytes: number[]) => [id, bytes.length, ...bytes];
  const name = (text: string) => [text.length, ...Buffer.from(text)];
  const exported = ([text, kind, index]: [string, number, number]) => [...name(text), kind, index];
  const exports: [string, number, number][] = [["memory", 2, 0], ["room", 0, 0], ["ask", 0, 1], ["answer", 0, 1], ["answer_len", 0, 1]];
  return new WebAssembly.Module(new Uint8Array([
    0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...section(1, 2, 0x60, 1, 0x7f, 1, 0x7f, 0x60, 0, 1, 0x7f),
    ...section(3, 2, 0, 1),
    ...section(5, 1, 0, 1),
    ...section(7, exports.length, ...exports.flatMap(exported)),
    ...section(10, 2, 4, 0, 0x41, 0, 0x0b, 3, 0, 0x00, 0x0b),
  ]));
}

test("the site is small", () => {
  const files = readdirSync(SITE, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const sizes = files.map(({ parentPath, name }) => ({ name, bytes: gzipSync(readFileSync(join(parentPath, name))).length }));
  const sum = (of: typeof sizes) => of.reduce((all, { bytes }) => all + bytes, 0);
  expect(sum(sizes)).toBeLessThan(SITE_MAX);
  expect(sum(sizes.filter(({ name }) => name.endsWith(".js")))).toBeLessThan(SCRIPTS_MAX);
});

test("links made on the site open the same run on a server, and back", async ({ page, explore, another }) => {
  const view = new Explorer(page);
  await page.goto(`${explore}/#exhibit=${BULLY}`);
  await expect(page.getByRole("heading", { level: 1 })).toContainText("P3 takes over");
  await view.button("To the end").click();
  await view.doTo("P3", "Crash");
  await expect(view.runs).toHaveCount(2);
  await expect(page).toHaveURL(/\/explore\/#.*b=0\.\d+\.crash_3/);
  const server = await startExplore();
  try {
    const served = await another();
    const shown = new Explorer(served);
    await served.goto(`${server.url}/explore${new URL(page.url()).hash}`);
    await expect(shown.runs).toHaveCount(2);
    expect(await shown.place()).toEqual(await view.place());
    // A branch made there comes back.
    await shown.button("To the beginning").click();
    await shown.doTo("P2", "Crash");
    await expect(shown.runs).toHaveCount(3);
    await expect(served).toHaveURL(/crash_2/);
    const back = new Explorer(await another());
    await back.page.goto(`${explore}/explore/${new URL(served.url()).hash}`);
    await expect(back.runs).toHaveCount(3);
    expect(await back.place()).toEqual(await shown.place());
    expect(await back.now.innerText()).toBe(await shown.now.innerText());
  } finally {
    await server.stop();
  }
});

test("a frame in another page shows picture and player only, and leads to the whole page", async ({ page, explore, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(`${explore}/explore#exhibit=${BULLY}&at=12`);
  await page.getByRole("button", { name: "Embed" }).click();
  await expect(page.getByText("Frame copied")).toBeVisible();
  const frame = await page.evaluate(() => navigator.clipboard.readText());
  expect(frame).toMatch(/^<iframe src="[^"]*\/explore\/\?embed=1#exhibit=[^"]*" /);
  await page.setContent(`<h1>My course</h1>${frame}`);
  const inside = page.frameLocator("iframe");
  await expect(inside.getByRole("slider", { name: "Event" })).toHaveAttribute("aria-valuetext", /12 of/);
  await expect(inside.getByRole("button", { name: "Play" })).toBeVisible();
  await expect(inside.getByRole("banner")).toHaveCount(0);
  await expect(inside.getByRole("region", { name: "Events" })).toHaveCount(0);
  const opened = page.waitForEvent("popup");
  await inside.getByRole("button", { name: "Open in the explorer" }).click();
  await expect((await opened).getByRole("heading", { level: 1 })).toContainText("P3 takes over");
});

test("what cannot be played is told as on a server", async ({ page, explore }) => {
  await page.goto(`${explore}/explore#open`);
  await page.getByLabel("Or paste the text").fill("cluster buly 1..4\nrun\n");
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await expect(page.getByRole("alert")).toContainText("line 1, column 9: no algorithm 'buly'");
  await expect(page.getByRole("link", { name: "Dashboard" })).toHaveCount(0);
});
