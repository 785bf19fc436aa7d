import { copyFileSync, mkdirSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Page } from "@playwright/test";
import { BULLY } from "./api";
import { busy } from "../src/dashboard/coordination/fakes";
import { Explorer } from "./explorer";
import { FakeMember } from "./fake-member";
import { expect, test } from "./fixtures";
import { expectReadable } from "./readable";
import { Cluster } from "./servers";

const SCREENSHOTS = fileURLToPath(new URL("../out/screenshots/", import.meta.url));
const IMAGES = fileURLToPath(new URL("../../docs/images/", import.meta.url));
/** A picture of the documentation should not take longer to load than its text. */
const BYTES_MAX = 170_000;

const SIZES = { wide: { width: 1280, height: 800 }, narrow: { width: 390, height: 844 } } as const;

/** A server for one room. */
interface Place {
  url: string;
  stop(): Promise<void>;
}

/** The rooms, and how to know that one is there. */
const ROOMS: Record<string, { path: string; ready: (page: Page) => Promise<void>; start?: () => Promise<Place> }> = {
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
    start: async () => {
      const cluster = await Cluster.start();
      return { url: cluster.dashboard, stop: () => cluster.stop() };
    },
    ready: (page) => expect(page.getByRole("region", { name: "Live messages" })).toContainText(/HEARTBEAT\s+[\d.]+\/s/),
  },
  coordination: {
    path: "/",
    start: async () => {
      const member = await FakeMember.start();
      member.say(busy());
      return member;
    },
    ready: async (page) => {
      await page.getByRole("heading", { name: "At work for clients" }).evaluate((heading) => heading.scrollIntoView());
      await expect(page.getByRole("row", { name: /^backup/ })).toBeAttached();
      await page.getByRole("region", { name: "Locks", exact: true }).evaluate((locks) => locks.scrollIntoView());
      await expect(page.getByRole("region", { name: "Wait-for graph" }).getByRole("img")).toBeVisible();
    },
  },
};

/** Those that the documentation shows. */
const SHOWN = ["gallery", "bully", "branch", "dashboard", "coordination"];

for (const [name, room] of Object.entries(ROOMS)) {
  test(`${name}: light and dark, wide and narrow, readable for everybody`, async ({ explore, another }) => {
    const server = await room.start?.();
    try {
      for (const colorScheme of ["light", "dark"] as const) {
        for (const [size, viewport] of Object.entries(SIZES)) {
          const page = await another({ viewport, colorScheme });
          await page.goto((server?.url ?? explore) + room.path);
          await room.ready(page);
          await keep(page, `${name}-${size}-${colorScheme}`);
          await expectReadable(page);
          await page.context().close();
        }
      }
    } finally {
      await server?.stop();
    }
    if (process.env["SHOTS"] && SHOWN.includes(name)) publish(name);
  });
}

async function keep(page: Page, name: string) {
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: `${SCREENSHOTS}${name}.png` });
}

function publish(name: string) {
  const picture = `${SCREENSHOTS}${name}-wide-light.png`;
  expect(statSync(picture).size, picture).toBeLessThan(BYTES_MAX);
  copyFileSync(picture, `${IMAGES}page-${name}.png`);
}
