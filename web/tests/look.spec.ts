import { copyFileSync, mkdirSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import { BULLY } from "./api";
import { Explorer } from "./explorer";
import { expect, test } from "./fixtures";
import { Cluster } from "./servers";

const SCREENSHOTS = fileURLToPath(new URL("../out/screenshots/", import.meta.url));
const IMAGES = fileURLToPath(new URL("../../docs/images/", import.meta.url));
/** A picture of the documentation should not take longer to load than its text. */
const BYTES_MAX = 150_000;

const SIZES = { wide: { width: 1280, height: 800 }, narrow: { width: 390, height: 844 } } as const;

/** The rooms, and how to know that one is there. */
const ROOMS: Record<string, { path: string; ready: (page: Page) => Promise<void>; cluster?: true }> = {
  gallery: {
    path: "/explore",
    ready: (page) => expect(page.getByRole("heading", { level: 4 }).first()).toBeVisible(),
  },
  bully: {
    path: `/explore#exhibit=${BULLY}&at=12`,
    ready: (page) => expect(new Explorer(page).button("Play")).toBeVisible(),
  },
  branch: {
    path: `/explore#exhibit=${BULLY}&b=0.10000.crash_3&run=1&at=14`,
    ready: (page) => expect(new Explorer(page).runs).toHaveCount(2),
  },
  lesson: {
    path: "/explore#lesson=bully&stop=2&answer=0",
    ready: (page) => expect(page.getByRole("region", { name: "Lesson" })).toBeVisible(),
  },
  "new-run": {
    path: "/explore#new",
    ready: (page) => expect(page.getByRole("button", { name: /^Run/ })).toBeVisible(),
  },
  open: {
    path: "/explore#open",
    ready: (page) => expect(page.getByRole("heading", { name: "Open a scenario or a trace" })).toBeVisible(),
  },
  dashboard: {
    path: "/",
    cluster: true,
    ready: (page) => expect(page.getByRole("region", { name: "Live messages" })).toContainText(/BEAT\s+[\d.]+\/s/),
  },
};

/** Those that the documentation shows. */
const SHOWN = ["gallery", "bully", "branch", "dashboard"];

for (const [name, room] of Object.entries(ROOMS)) {
  test(`${name}: light and dark, wide and narrow, readable for everybody`, async ({ explore, another }) => {
    const cluster = room.cluster ? await Cluster.start() : null;
    try {
      for (const colorScheme of ["light", "dark"] as const) {
        for (const [size, viewport] of Object.entries(SIZES)) {
          const page = await another({ viewport, colorScheme });
          await page.goto((cluster?.dashboard ?? explore) + room.path);
          await room.ready(page);
          await keep(page, `${name}-${size}-${colorScheme}`);
          await check(page, viewport.width);
          await page.context().close();
        }
      }
    } finally {
      await cluster?.stop();
    }
    if (process.env["SHOTS"] && SHOWN.includes(name)) publish(name);
  });
}

async function keep(page: Page, name: string) {
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: `${SCREENSHOTS}${name}.png` });
}

async function check(page: Page, width: number) {
  const { violations } = await new AxeBuilder({ page }).analyze();
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  const told = serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" ")).join(", ")}`);
  expect(told, page.url()).toEqual([]);
  const scrollWidth = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(scrollWidth, `${page.url()} at ${width} pixels`).toBeLessThanOrEqual(width);
}

function publish(name: string) {
  const picture = `${SCREENSHOTS}${name}-wide-light.png`;
  expect(statSync(picture).size, picture).toBeLessThan(BYTES_MAX);
  copyFileSync(picture, `${IMAGES}page-${name}.png`);
}
