/** The walk inside the page: one call from the test walks through a whole run, so nothing is spent on asking back. */
export interface Walker {
  /** Walks through a run of the gallery, and through a branch of it. */
  exhibit(id: string, title: string): Promise<void>;
  /** Walks through a lesson, with an answer at every stop. */
  lesson(name: string, title: string): Promise<void>;
}

declare global {
  interface Window {
    walker: Walker;
  }
}

/** Runs in the page before its own scripts do, and uses nothing from outside. */
export function installWalker() {
  /** How long anything may take on a busy machine. */
  const PATIENCE_MS = 60_000;
  /** How many steps a walk goes to by chance. */
  const STEPS = 5;
  /** The player takes quicker steps for a pull at the slider, and lets the panels take turns. */
  const CALM_MS = 32;

  let random = Math.random;
  /** Where the walk is, for what it has to say. */
  let at = "";

  /** Numbers from 0 to 1 by chance, the same in every walk for the same name. */
  function chance(name: string): () => number {
    let state = [...name].reduce((hash, letter) => (Math.imul(hash, 31) + letter.charCodeAt(0)) | 0, 7);
    return () => {
      state = (Math.imul(state, 1664525) + 1013904223) | 0;
      return (state >>> 0) / 2 ** 32;
    };
  }

  const fail = (why: string): never => {
    throw new Error(`${at}: ${why}`);
  };
  const all = <T extends Element = HTMLElement>(selector: string, within: ParentNode = document) => [...within.querySelectorAll<T>(selector)];
  const button = (name: string | RegExp) =>
    all<HTMLButtonElement>("button").find((one) => {
      const said = (one.getAttribute("aria-label") ?? one.textContent ?? "").trim();
      return typeof name === "string" ? said === name : name.test(said);
    });

  /** Waits until something is there. */
  async function until<T>(what: string, find: () => T | null | undefined | false): Promise<T> {
    const end = Date.now() + PATIENCE_MS;
    for (;;) {
      const found = find();
      if (found) return found;
      if (document.querySelector(".notice")) fail(`“${document.querySelector(".notice")!.textContent}” instead of ${what}`);
      if (Date.now() > end) fail(`there is no ${what}`);
      await new Promise((done) => setTimeout(done, 5));
    }
  }

  const frame = () => new Promise(requestAnimationFrame);
  /** Waits until a step is drawn, and until the next one is no pull at the slider. */
  async function settle() {
    const began = performance.now();
    await frame();
    const rest = CALM_MS - (performance.now() - began);
    if (rest > 0) await new Promise((done) => setTimeout(done, rest));
  }

  const slider = () => document.querySelector<HTMLInputElement>("input.scrub") ?? fail("there is no slider");

  async function goTo(step: number) {
    const pulled = slider();
    pulled.valueAsNumber = step;
    pulled.dispatchEvent(new Event("input", { bubbles: true }));
    await settle();
  }

  /** Goes to steps by chance. A panel that fails at one of them stays failed. */
  async function wander() {
    const max = Number(slider().max);
    for (let step = 0; step < STEPS; step++) await goTo(Math.floor(random() * (max + 1)));
  }

  async function press(name: string) {
    const found = await until(`button “${name}”`, () => button(name));
    if (!found.disabled) found.click();
    await settle();
  }

  const boxOf = (one: Element) => one.getBoundingClientRect();
  const isSeen = (one: Element) => one.checkVisibility({ contentVisibilityAuto: true, visibilityProperty: true });

  /** Nothing has failed, nothing is missing, and all that is written can be read. */
  function inspect(panels: readonly string[]) {
    const failed = all(".failed").map((one) => one.textContent);
    if (failed.length > 0) fail(failed.join("; "));
    for (const name of panels) {
      const panel = all("section").find((one) => one.querySelector("h2")?.textContent === name);
      if (!panel || boxOf(panel).height === 0) fail(`the panel “${name}” is missing`);
    }
    const { scrollWidth, clientWidth } = document.documentElement;
    if (scrollWidth > clientWidth) fail(`the page is ${scrollWidth} pixels wide, and the window ${clientWidth}`);
    const unreadable = [...spills(), ...hiddenTexts(), ...overlaps()];
    if (unreadable.length > 0) fail(unreadable.join("; "));
  }

  const words = (one: Element) => `“${(one.textContent ?? "").trim().slice(0, 60)}”`;

  /** What does not fit into its box. */
  function spills(): string[] {
    return all(".card, .chip, .panel, .choices button, .run-head, .controls button, .card dd, .rules li, .by-rule, .now")
      .filter((one) => isSeen(one) && one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).textOverflow !== "ellipsis")
      .filter((one) => getComputedStyle(one).overflowX !== "auto" && getComputedStyle(one).display !== "inline")
      .map((one) => `.${one.className} is wider than its box: ${words(one)}`);
  }

  /** What is cut off at the edge of a picture. */
  function hiddenTexts(): string[] {
    return all<SVGSVGElement>(".topology svg, .card svg").filter(isSeen).flatMap((picture) => {
      const edge = boxOf(picture);
      return all<SVGTextElement>("text", picture)
        .filter((text) => {
          const { left, right, top, bottom } = boxOf(text);
          return left < edge.left - 2 || right > edge.right + 2 || top < edge.top - 3 || bottom > edge.bottom + 3;
        })
        .map((text) => `cut off at the edge of its picture: ${words(text)}`);
    });
  }

  /** Words of the picture of the network that stand on each other. */
  function overlaps(): string[] {
    const texts = all<SVGTextElement>(".topology text").filter(isSeen).map((text) => ({ text, box: boxOf(text) }));
    const found: string[] = [];
    texts.forEach(({ text, box: a }, index) => {
      for (const { text: other, box: b } of texts.slice(index + 1)) {
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (wide <= 0 || high <= 0) continue;
        const smaller = Math.min(a.width * a.height, b.width * b.height);
        if (wide * high > 0.35 * smaller) found.push(`${words(text)} stands on ${words(other)}`);
      }
    });
    return found;
  }

  const PANELS = ["Processes", "Messages", "Events"];

  /** Whether the run with this heading is there and can be played. */
  const isOpen = (title: string) => document.querySelector("h1")?.textContent?.includes(title) && document.querySelector("input.scrub");

  async function exhibit(id: string, title: string) {
    random = chance(id);
    at = id;
    location.hash = `exhibit=${id}`;
    await until(`run “${title}”`, () => isOpen(title));
    await press("To the end");
    at = `${id} at its end`;
    if (slider().valueAsNumber !== Number(slider().max)) fail(`it is at ${slider().value} of ${slider().max}`);
    inspect(PANELS);
    await press("To the beginning");
    at = `${id} at its beginning`;
    if (slider().valueAsNumber !== 0) fail(`it is at ${slider().value}`);
    inspect(PANELS);
    at = `${id} on the way`;
    await wander();
    inspect(PANELS);
    if (button("Show where")) {
      at = `${id} where it is violated`;
      await press("Show where");
      await until("violation", () => document.querySelector(".now.violated"));
      inspect(PANELS);
      await wander();
    }
    await branch(id);
  }

  /** Breaks a process that is up at the moment that is shown, and walks through what comes of it. */
  async function branch(id: string) {
    at = `a branch of ${id} at step ${slider().value}`;
    const up = all<SVGElement>("[data-node]:not(.down)");
    if (up.length === 0) return;
    up[Math.floor(random() * up.length)]!.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    const choice = (name: RegExp) => all("[role=menuitem]").find((one) => name.test(one.textContent ?? ""));
    // A process that is down at the end of this microsecond cannot crash.
    const crash = await until("menu", () => choice(/^(Crash|Recover)$/));
    const cut = choice(/^Cut off from all others$/);
    (random() < 0.3 && cut ? cut : crash).click();
    const refused = () => document.querySelector(".warning")?.textContent?.includes("the scenario is over at");
    await until("second run", () => all(".branches [aria-pressed]").length === 2 || refused());
    if (refused()) return;
    await settle();
    await wander();
    await press("To the end");
    inspect(PANELS);
    await press("To the beginning");
    inspect(PANELS);
  }

  async function lesson(name: string, title: string) {
    random = chance(name);
    at = name;
    location.hash = `lesson=${name}`;
    await until(`lesson “${title}”`, () => isOpen(title));
    await press("Begin");
    const stops = all(".lesson-steps button").length;
    if (stops < 2) fail(`it has ${stops} stops`);
    const back = 1 + Math.floor(random() * stops);
    for (const stop of [...Array.from({ length: stops }, (_, index) => index + 1), back]) {
      at = `${name}, stop ${stop}`;
      await press(`Stop ${stop}`);
      const choices = await until("question", () => all<HTMLButtonElement>(".choices button"));
      inspect(["Processes"]);
      choices[Math.floor(random() * choices.length)]!.click();
      await until("verdict", () => document.querySelector(".verdict"));
      inspect(["Processes"]);
      if (document.querySelector(".verdict.hint-first")) await press("show the solution");
      await until("Continue", () => button(/^(Continue|Finish)$/));
      await goTo(Math.floor(random() * (Number(slider().max) + 1)));
      inspect(["Processes"]);
    }
    await press(`Stop ${stops}`);
    (await until("question", () => document.querySelector<HTMLButtonElement>(".choices button"))).click();
    await until("verdict", () => document.querySelector(".verdict"));
    if (document.querySelector(".verdict.hint-first")) await press("show the solution");
    await press("Finish");
    at = `${name} at its end`;
    await until("end", () => all("h2").some((one) => one.textContent === "What to remember"));
    await wander();
    inspect(["Processes"]);
  }

  window.walker = { exhibit, lesson };
}
