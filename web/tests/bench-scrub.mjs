// Measures how the page opens and scrubs runs of 10,000 events, with the browser's own tracing.
//
//   node tests/bench-scrub.mjs                     starts `bellwether explore` for it
//   BASE_URL=http://127.0.0.1:7490 node tests/bench-scrub.mjs
//
// A frame is what the browser displays. Its time is from one to the next; its work is how much of a
// processor the page's main thread took in between, which does not depend on what else is going on.
import { chromium } from "@playwright/test";
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { deflateRawSync, gzipSync } from "node:zlib";

const SCRUB_MS = Number(process.env.SCRUB_MS ?? 6000);
const AIMS = { jsKb: 120, firstPaintMs: 1000, frameMs: 1000 / 60, frameP95Ms: 20, workP95Ms: 8 };

const jobs = (from, to, times) => `work ${from}..${to}\n`.repeat(times);
/** Runs of about 10,000 events. */
const RUNS = [
  {
    name: "Suzuki-Kasami, 64 processes, 78 entries",
    scenario: `cluster suzuki-kasami 1..64 latency=5ms..20ms section=2ms seed=1\n${jobs(1, 64, 1)}${jobs(1, 14, 1)}run\n`,
  },
  {
    name: "Ricart-Agrawala, 24 processes, 108 entries",
    scenario: `cluster ricart-agrawala 1..24 latency=5ms..20ms section=2ms seed=1\n${jobs(1, 24, 4)}${jobs(1, 12, 1)}run\n`,
  },
];

const server = await startServer();
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
  ],
});
try {
  const report = { jsKb: pageSize(), firstPaintMs: await firstPaint(), runs: [] };
  for (const run of RUNS) report.runs.push(await scrub(run));
  tell(report);
} finally {
  await browser.close();
  server.stop();
}

/** All JavaScript of the page, compressed, whether a room needs it or not. */
function pageSize() {
  const assets = fileURLToPath(new URL("../dist/assets/", import.meta.url));
  if (!existsSync(assets)) return null;
  const scripts = readdirSync(assets).filter((name) => name.endsWith(".js"));
  return scripts.reduce((sum, name) => sum + gzipSync(readFileSync(assets + name)).length, 0) / 1024;
}

/** The median of five first visits. */
async function firstPaint() {
  const times = [];
  for (let visit = 0; visit < 5; visit++) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    const page = await context.newPage();
    await page.goto(`${server.url}/explore`, { waitUntil: "load" });
    await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
    times.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime));
    await context.close();
  }
  return quantile(times, 0.5);
}

async function scrub({ name, scenario }) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const packed = deflateRawSync(scenario).toString("base64url");
  const began = performance.now();
  await page.goto(`${server.url}/explore#s=${packed}`);
  await page.locator("input.scrub").waitFor({ timeout: 60_000 });
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const openMs = performance.now() - began;
  const events = await page.locator("input.scrub").evaluate((slider) => Number(slider.max));
  await page.waitForTimeout(1500);
  const cdp = await page.context().newCDPSession(page);
  const trace = [];
  cdp.on("Tracing.dataCollected", ({ value }) => trace.push(...value));
  const ended = new Promise((done) => cdp.once("Tracing.tracingComplete", done));
  await cdp.send("Tracing.start", {
    transferMode: "ReportEvents",
    traceConfig: { includedCategories: ["toplevel", "blink.user_timing", "disabled-by-default-display.framedisplayed"] },
  });
  await page.evaluate(sweep, SCRUB_MS);
  await cdp.send("Tracing.end");
  await ended;
  await page.close();
  return { name, events, openMs, ...framesOf(trace) };
}

/** In the page: pulls the slider to the end and back, every frame a little further. */
function sweep(ms) {
  const slider = document.querySelector("input.scrub");
  return new Promise((done) => {
    performance.mark("scrub-begin");
    const began = performance.now();
    const pull = (now) => {
      const at = Math.min(1, (now - began) / ms);
      slider.value = String(Math.round((1 - Math.abs(2 * at - 1)) * Number(slider.max)));
      slider.dispatchEvent(new Event("input", { bubbles: true }));
      if (at < 1) return requestAnimationFrame(pull);
      performance.mark("scrub-end");
      done();
    };
    requestAnimationFrame(pull);
  });
}

/** The times between frames, and the work for each, while the slider was pulled. */
function framesOf(trace) {
  const mark = (name) => trace.find((event) => event.name === name && event.cat.includes("user_timing"));
  const [begin, end] = [mark("scrub-begin"), mark("scrub-end")];
  const within = ({ ts }) => ts > begin.ts && ts < end.ts;
  const drawn = trace.filter((event) => event.name === "Display::FrameDisplayed" && within(event)).map(({ ts }) => ts);
  drawn.sort((a, b) => a - b);
  const times = drawn.slice(1).map((ts, index) => (ts - drawn[index]) / 1000);
  const tasks = trace.filter(({ name, pid, tid }) => pid === begin.pid && tid === begin.tid && /RunTask$/.test(name)).filter(within);
  const work = drawn.slice(1).map((ts, index) => {
    const busy = tasks.filter((task) => task.ts >= drawn[index] && task.ts < ts);
    return busy.reduce((sum, { tdur = 0 }) => sum + tdur, 0) / 1000;
  });
  const late = times.filter((ms) => ms > 1.5 * AIMS.frameMs).length;
  const per = (values) => ({ p50: quantile(values, 0.5), p95: quantile(values, 0.95), max: quantile(values, 1) });
  return { frames: times.length, late, frameMs: per(times), workMs: per(work) };
}

function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? NaN;
}

function tell({ jsKb, firstPaintMs, runs }) {
  const ms = (value) => `${value.toFixed(1)} ms`;
  if (jsKb !== null) console.log(`JavaScript, gzip     ${jsKb.toFixed(1)} kB (at most ${AIMS.jsKb})`);
  console.log(`gallery, first paint ${ms(firstPaintMs)} (at most ${AIMS.firstPaintMs})`);
  for (const { name, events, openMs, frames, late, frameMs, workMs } of runs) {
    console.log(`${name}: ${events} events, open after ${ms(openMs)}`);
    console.log(`  frame time         p50 ${ms(frameMs.p50)}  p95 ${ms(frameMs.p95)}  max ${ms(frameMs.max)}  (p95 at most ${ms(AIMS.frameP95Ms)})`);
    console.log(`  work per frame     p50 ${ms(workMs.p50)}  p95 ${ms(workMs.p95)}  max ${ms(workMs.max)}  (p95 at most ${ms(AIMS.workP95Ms)})`);
    console.log(`  frames             ${frames}, of which ${late} came late (${((100 * late) / frames).toFixed(1)} %)`);
  }
}

/** The server that BASE_URL names, or one of our own. */
async function startServer() {
  if (process.env.BASE_URL) return { url: process.env.BASE_URL, stop() {} };
  const built = ["release", "debug"].map((profile) => fileURLToPath(new URL(`../../target/${profile}/bellwether`, import.meta.url)));
  const binary = process.env.BELLWETHER_BIN ?? built.find((path) => existsSync(path));
  if (!binary) throw new Error("There is no command to measure. Run: make build");
  const child = spawn(binary, ["explore", "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "inherit"] });
  const url = await new Promise((done, fail) => {
    let said = "";
    child.once("exit", () => fail(new Error(`it ended: ${said}`)));
    child.stdout.on("data", (chunk) => {
      said += chunk;
      const found = /(http:\/\/[\d.]+:\d+)/.exec(said);
      if (found) done(found[1]);
    });
  });
  return { url, stop: () => child.kill("SIGTERM") };
}
