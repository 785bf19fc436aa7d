import type { Locator, Page } from "@playwright/test";

/** What a viewer sees and uses in the explorer, by the names that are read out to who cannot see it. */
export class Explorer {
  constructor(readonly page: Page) {}

  /** What is happening, in a sentence. */
  get now(): Locator {
    return this.page.locator(".now");
  }

  button(name: string): Locator {
    return this.page.getByRole("button", { name, exact: true });
  }

  get counters(): Locator {
    return this.page.getByRole("region", { name: "Messages" });
  }

  /** How many messages of a kind have been sent so far. */
  async count(kind: string): Promise<number> {
    const row = this.counters.getByRole("row", { name: new RegExp(`^${kind}\\b`) }).first();
    return Number(await row.getByRole("cell").first().innerText());
  }

  process(name: string): Locator {
    return this.page.getByRole("group", { name: /processes in a/ }).getByRole("button", { name: new RegExp(`^${name}\\b`) });
  }

  /** The runs side by side: the original and its branches. */
  get runs(): Locator {
    return this.page.getByRole("region", { name: "Runs" }).getByRole("rowheader").getByRole("button");
  }

  /** How far the viewer is: `12 of 40`. */
  async place(): Promise<{ step: number; of: number }> {
    const text = await this.page.getByRole("slider", { name: "Event" }).getAttribute("aria-valuetext");
    const [, step, of] = /(\d+) of (\d+)/.exec(text ?? "") ?? [];
    return { step: Number(step), of: Number(of) };
  }

  async doTo(process: string, deed: string) {
    await this.process(process).click();
    await this.page.getByRole("menuitem", { name: deed, exact: true }).click();
  }
}
