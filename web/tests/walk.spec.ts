import { gallery } from "./api";
import { Explorer } from "./explorer";
import { expect, test } from "./fixtures";

/** The gallery is walked through in parts, side by side. */
const PARTS = 4;

for (let part = 0; part < PARTS; part++) {
  test(`every run of the gallery goes to its end and back, part ${part + 1} of ${PARTS}`, async ({ page, explore }) => {
    const view = new Explorer(page);
    const { exhibits } = await gallery(explore);
    const mine = exhibits.filter((_, index) => index % PARTS === part);
    expect(mine.length).toBeGreaterThan(20);
    await page.goto(`${explore}/explore`);
    for (const { id, title } of mine) {
      await page.evaluate((id) => (location.hash = `exhibit=${id}`), id);
      await expect(page.getByRole("heading", { level: 1 }), id).toContainText(title);
      await view.button("To the end").click();
      await expect(view.button("To the end"), id).toBeDisabled();
      const end = await view.place();
      expect(end.step, id).toBe(end.of);
      await expect(page.getByRole("region", { name: "Processes" }), id).toBeVisible();
      await view.button("To the beginning").click();
      await expect(view.button("To the beginning"), id).toBeDisabled();
      expect((await view.place()).step, id).toBe(0);
    }
  });
}
