import { defineConfig } from "@playwright/test";
import type { PerWorker } from "./tests/fixtures";
import { hasSite } from "./tests/servers";

// Tests in a real browser, Debian's; they start the servers that they need. See tests/servers.ts.
const CLUSTER = /(dashboard|coordination-cluster|dev)\.spec\.ts/;
// These also run in the site that `make site` writes, if it was written.
const SITE = /(walk|next|site)\.spec\.ts/;

export default defineConfig<object, PerWorker>({
  testDir: "tests",
  outputDir: "out/results",
  // Real members with short time-outs need the machine for themselves; then come the other tests, two at a time.
  workers: 2,
  fullyParallel: true,
  projects: [
    { name: "cluster", testMatch: CLUSTER, workers: 1 },
    { name: "page", testIgnore: [CLUSTER, /site\.spec\.ts/], dependencies: ["cluster"] },
    ...(hasSite ? [{ name: "site", testMatch: SITE, dependencies: ["page"], use: { site: true } }] : []),
  ],
  // A machine that is busy with something else gets another chance.
  retries: 2,
  timeout: 120_000,
  expect: { timeout: 15_000 },
  forbidOnly: true,
  reporter: [["list"]],
  use: {
    browserName: "chromium",
    viewport: { width: 1280, height: 800 },
    colorScheme: "light",
    screenshot: "only-on-failure",
    trace: "on-first-retry",
    launchOptions: {
      executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
      args: [
        "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync",
      ],
    },
  },
});
