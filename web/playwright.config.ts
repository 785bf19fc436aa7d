import { defineConfig } from "@playwright/test";

// Tests in a real browser, Debian's; they start the servers that they need. See tests/servers.ts.
export default defineConfig({
  testDir: "tests",
  outputDir: "out/results",
  // The dashboard's tests measure real time on a machine that may have two cores.
  workers: 1,
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
    trace: "retain-on-failure",
    launchOptions: {
      executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
      args: [
        "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync",
      ],
    },
  },
});
