import AxeBuilder from "@axe-core/playwright";
import { expect, type Page } from "@playwright/test";

/** The page as it is now is readable, without scrolling sideways. */
export async function expectReadable(page: Page) {
  // The small pictures are hidden from those who cannot see them, and there are thousands of lines in them.
  const { violations } = await new AxeBuilder({ page }).exclude(".thumbnail").analyze();
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  const told = serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" ")).join(", ")}`);
  expect(told, page.url()).toEqual([]);
  const width = page.viewportSize()?.width ?? 0;
  const scrollWidth = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(scrollWidth, `${page.url()} at ${width} pixels`).toBeLessThanOrEqual(width);
}
