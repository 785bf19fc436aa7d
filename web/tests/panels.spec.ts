import { BULLY, gallery } from "./api";
import { Explorer } from "./explorer";
import { expect, test } from "./fixtures";

test("a panel that fails says so and leaves the others alone", async ({ page, explore }) => {
  // What no server sends: a formula without the kinds of messages that it is for.
  await page.route("**/v1/explore/run", async (route) => {
    const answer = await route.fetch();
    const run = await answer.json();
    await route.fulfill({ response: answer, json: { ...run, outcome: { ...run.outcome, costs: [{ case: "none" }] } } });
  });
  const view = new Explorer(page);
  await page.goto(`${explore}/explore#exhibit=${BULLY}`);
  await view.button("Show how it ends").click();
  const failed = page.getByRole("alert").filter({ hasText: "This panel failed to render: Messages" });
  await expect(failed).toContainText("undefined");
  await view.button("One event forward").click();
  expect((await view.place()).step).toBe(1);
  for (const name of ["Processes", "Events", "Rules"]) await expect(page.getByRole("region", { name })).toBeVisible();
  await expect(page.getByRole("group", { name: /processes in a/ })).toBeVisible();
  await expect(failed.getByRole("button", { name: "Try again" })).toBeVisible();
});

test("a diagram that cannot be drawn says so and leaves the others alone", async ({ page, explore }) => {
  await page.addInitScript(() => {
    OffscreenCanvas.prototype.getContext = () => {
      throw new Error("no canvas today");
    };
  });
  const view = new Explorer(page);
  await page.goto(`${explore}/explore#exhibit=${BULLY}`);
  await expect(page.getByRole("alert")).toContainText("This panel failed to render: Space-time diagram");
  await expect(page.getByRole("alert")).toContainText("no canvas today");
  await view.button("To the end").click();
  await expect(page.getByRole("region", { name: "Processes" })).toBeVisible();
});

test("after a branch the arrow keys and Space move the player", async ({ page, explore }) => {
  const view = new Explorer(page);
  await page.goto(`${explore}/explore#exhibit=${BULLY}&at=7`);
  await view.doTo("P3", "Crash");
  await expect(view.runs).toHaveCount(2);
  const { step } = await view.place();
  await page.keyboard.press("ArrowRight");
  expect((await view.place()).step).toBe(step + 1);
  await page.keyboard.press("ArrowLeft");
  expect((await view.place()).step).toBe(step);
  await page.keyboard.press(" ");
  await expect(view.button("Pause")).toBeVisible();
  await expect(page.getByRole("menu")).toHaveCount(0);
});

test("a link that is followed while the link before is still to be written is followed", async ({ page, explore }) => {
  await page.goto(`${explore}/explore#exhibit=${BULLY}&at=7`);
  await expect(new Explorer(page).button("Play")).toBeVisible();
  await page.evaluate(() => {
    document.querySelector<HTMLButtonElement>("[aria-label='One event forward']")!.click();
    // The link is written a quarter of a second after a step, at the latest. It is due when the browser has time again.
    for (const end = Date.now() + 400; Date.now() < end;);
    location.hash = "exhibit=raymond-pointers-turn-round";
  });
  await expect(page.getByRole("heading", { level: 1 })).toContainText("The tree's pointers turn round");
  await expect(page).toHaveURL(/exhibit=raymond/);
});

test("the formulas are compared kind by kind, per entry where they are per entry, and only the case that fits is shown", async ({ page, explore }) => {
  const view = new Explorer(page);
  await page.goto(`${explore}/explore#exhibit=lamport-crossing-requests`);
  await expect(view.button("Show how it ends")).toBeVisible();
  await expect(view.counters.getByRole("columnheader")).toHaveText(["Kind", "so far"]);
  await view.button("Show how it ends").click();
  await expect(view.counters.getByRole("columnheader", { name: "messages per entry" })).toBeVisible();
  await expect(view.counters.getByRole("row", { name: /^one asks, light load/ })).toContainText("6 ✓");
  await expect(view.counters.getByRole("row", { name: /^REPLY exactly|^REPLY n/ })).toContainText("2 ✓");
  await expect(view.counters).toContainText("This run has 3 entries.");
  await page.goto(`${explore}/explore#exhibit=${BULLY}`);
  await expect(page.getByRole("heading", { level: 1 })).toContainText("P3 takes over");
  await view.button("Show how it ends").click();
  await expect(view.counters).toContainText("None of them is for a run like this one.");
  await expect(view.counters.getByText("✓")).toHaveCount(0);
  await expect(view.counters.getByText("Formulas for other situations (4)")).toBeVisible();
});

test("the menu of a process offers what can be done after the events of that time", async ({ page, explore }) => {
  const view = new Explorer(page);
  // P4 is up at step 0, and crashes at 0ms. A branch begins after that.
  await page.goto(`${explore}/explore#exhibit=${BULLY}`);
  await view.process("P4").click();
  await expect(page.getByRole("menu", { name: "P4, after 0ms" })).toBeVisible();
  await expect(page.getByRole("menuitem", { name: "Crash", exact: true })).toHaveCount(0);
  await page.getByRole("menuitem", { name: "Recover", exact: true }).click();
  await expect(view.runs).toHaveCount(2);
});

test("on paper stands the whole diagram, dark on white, without what can only be clicked", async ({ another, explore }) => {
  const page = await another({ viewport: { width: 1280, height: 800 }, colorScheme: "dark" });
  await page.goto(`${explore}/explore#exhibit=${BULLY}&at=12`);
  await expect(new Explorer(page).button("Play")).toBeVisible();
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print" });
  await expect(page.locator(".diagram .printed svg")).toBeVisible();
  await expect(page.locator(".diagram canvas")).toBeHidden();
  for (const name of ["Share", "Play", "Zoom in"]) await expect(page.getByRole("button", { name, exact: true })).toBeHidden();
  await expect(page.getByRole("region", { name: "Processes" })).toBeVisible();
  const paper = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  expect(paper).toBe("rgb(255, 255, 255)");
});

test("picture, controls, rule and processes are in sight together at 1280 x 800, for every family", async ({ page, explore }) => {
  const view = new Explorer(page);
  const { exhibits } = await gallery(explore);
  const titles = new Map(exhibits.map(({ id, title }) => [id, title]));
  for (const id of [
    BULLY, "active-list-example-1", "lamport-crossing-requests", "suzuki-kasami-outdated-request", "singhal-staircase",
    "raymond-pointers-turn-round", "berkeley-master-dies", "clocks-vector", "causal-broadcast-question-and-answer",
    "total-order-lamport-same-time", "snapshot-bank-money-on-the-way", "deadlock-central-two-sites", "deadlock-distributed-two-sites",
    "deadlock-edge-chasing-three-sites", "byzantine-four-one-traitor", "two-generals-last-messenger-lost",
    "device-old-coordinator-is-refused", "member-take-over",
  ]) {
    await page.goto(`${explore}/explore#exhibit=${id}`);
    // The link is another one at once, and the run soon after.
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(titles.get(id)!);
    await expect(view.button("Play")).toBeVisible();
    const low = await page.evaluate(async () => {
      const slider = document.querySelector<HTMLInputElement>("input.scrub")!;
      const low: string[] = [];
      for (const part of [0.25, 0.5, 0.75, 0.9, 1]) {
        slider.valueAsNumber = Math.round(part * Number(slider.max));
        slider.dispatchEvent(new Event("input", { bubbles: true }));
        await new Promise((done) => setTimeout(done, 40));
        for (const one of document.querySelectorAll(".topology, .diagram, .by-rule, .controls, .card")) {
          const { bottom, height } = one.getBoundingClientRect();
          if (height === 0 || bottom > innerHeight) low.push(`${one.className} ends at ${Math.round(bottom)} at step ${slider.value}`);
        }
      }
      return low;
    });
    expect(low, id).toEqual([]);
    expect(await page.locator(".card").count(), id).toBeGreaterThan(1);
  }
});

test("what comes of a run is told when the end was seen, or asked for", async ({ page, explore }) => {
  const view = new Explorer(page);
  await page.goto(`${explore}/explore#exhibit=lamport-crossing-requests`);
  await expect(view.button("Show how it ends")).toBeVisible();
  await expect(page.locator(".outcome b")).toHaveCount(0);
  await view.button("To the end").click();
  await expect(page.locator(".outcome b")).toBeVisible();
  await page.goto(`${explore}/explore#exhibit=bully-p1-to-p4`);
  await view.button("Show how it ends").click();
  await expect(page.locator(".outcome b")).toBeVisible();
});

test("stamps stand at the events, and say what is concurrent", async ({ page, explore }) => {
  await page.goto(`${explore}/explore#exhibit=clocks-vector&at=11`);
  const stamps = page.getByRole("region", { name: "What vector stamps say" });
  await expect(stamps).toContainText("P2 sends LETTER(1) to P3 (3,5,0): concurrent with it are 3 events so far.");
  await page.getByRole("combobox", { name: "Stamps" }).selectOption("lamport");
  await expect(page.getByRole("region", { name: "The order that Lamport stamps give" })).toContainText("8.P2");
});

test("a snapshot has its parts and its sum", async ({ page, explore }) => {
  await page.goto(`${explore}/explore#exhibit=snapshot-bank-money-on-the-way&at=27`);
  await expect(page.getByRole("region", { name: "Recorded" })).toContainText("280 + 20 = 300");
});
