import { expect, test as base, type Browser, type BrowserContextOptions, type Page } from "@playwright/test";
import { startExplore, startSite } from "./servers";

/** What must not happen in a page, collected while a test runs. */
class Faults {
  readonly #seen: string[] = [];
  readonly #allowed: RegExp[] = [];

  /** From now on this is meant to happen, and is no fault. */
  allow(...patterns: RegExp[]) {
    this.#allowed.push(...patterns);
  }

  watch(page: Page) {
    const note = (what: string) => this.#seen.push(what);
    // A browser that refuses something because of the content-security policy says so here, too.
    page.on("console", (said) => {
      if (said.type() === "error" || said.type() === "warning") note(`console: ${said.text()} (${said.location().url})`);
    });
    page.on("pageerror", (error) => note(`error: ${error.message}`));
    page.on("requestfailed", (request) => {
      const why = request.failure()?.errorText ?? "";
      // What the page itself gave up, or what ended because the page did.
      if (why !== "net::ERR_ABORTED") note(`request: ${request.url()} ${why}`);
    });
    page.on("response", (response) => {
      if (response.status() >= 400) note(`response: ${response.url()} ${response.status()}`);
    });
  }

  check() {
    expect(this.#seen.filter((fault) => !this.#allowed.some((pattern) => pattern.test(fault)))).toEqual([]);
  }
}

interface PerTest {
  faults: Faults;
  /** Opens a page in a browser context of its own, as a friend would who was sent a link. */
  another: (options?: BrowserContextOptions) => Promise<Page>;
}

export interface PerWorker {
  /** Whether the explorer is the static site instead of a server. */
  site: boolean;
  /** The address of a server with the explorer. */
  explore: string;
}

async function openAnother(browser: Browser, faults: Faults, options: BrowserContextOptions): Promise<Page> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  faults.watch(page);
  return page;
}

/** Tests that fail if anything goes wrong in a page, looked for or not. */
export const test = base.extend<PerTest, PerWorker>({
  site: [false, { scope: "worker", option: true }],
  explore: [async ({ site }, use) => {
    const server = await (site ? startSite() : startExplore());
    await use(server.url);
    await server.stop();
  }, { scope: "worker" }],
  faults: [async ({ page }, use) => {
    const faults = new Faults();
    faults.watch(page);
    await use(faults);
    faults.check();
  }, { auto: true }],
  another: async ({ browser, faults }, use) => {
    const pages: Page[] = [];
    await use(async (options = { viewport: { width: 1280, height: 800 } }) => {
      const page = await openAnother(browser, faults, options);
      pages.push(page);
      return page;
    });
    for (const page of pages) await page.context().close();
  },
});

export { expect };
