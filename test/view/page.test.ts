import { appendFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { waitForAbort } from "../../src/system/host.ts";
import { chromium } from "../support/browser.ts";
import { addressOf, hash, openPage, openPageAt, pressKeys, views } from "./shown.ts";
import { fileOf, groupLine } from "./viewing.ts";

const airline = "test/samples/airline.groups.jsonl";

/** Lists texts with a contrast below 4.5 (WCAG 2), except on disabled buttons, and graphics with one below 3. */
const lowContrasts = `(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  // The canvas mixes each color with the color below it.
  const luminance = (colors) => {
    for (const color of ["#fff", ...colors]) {
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
    }
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((value) =>
      value <= 10 ? value / 3294 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const low = [];
  const compare = (element, ink, min, name) => {
    const grounds = [];
    for (let at = element; at; at = at.parentElement) grounds.unshift(getComputedStyle(at).backgroundColor);
    const [a, b] = [luminance(grounds), luminance([...grounds, ink])];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < min) low.push(name + " " + contrast.toFixed(2));
  };
  const drawn = { ".swatch, .strip i": "backgroundColor", "rect:not(.slot)": "fill", "svg line, .dot, svg": "stroke" };
  for (const [selector, property] of Object.entries(drawn))
    for (const one of document.querySelectorAll(selector))
      compare(one.parentElement, getComputedStyle(one)[one.localName === "svg" ? "borderLeftColor" : property], 3, one.outerHTML);
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { parentElement: element, data } = walker.currentNode;
    if (data.trim() === "" || element.closest("title, button:disabled")) continue;
    compare(element, getComputedStyle(element)[element.closest("svg") ? "fill" : "color"], 4.5, data);
  }
  return low;
})()`;

describe.skipIf(chromium === undefined)("the page of rollcall view", { tags: "browser" }, () => {
  it("shows the groups, and removes the token from the URL", async () => {
    const { page, viewing: served } = await openPage([airline]);
    await expect.poll(async () => await hash(page)).toBe("#/");
    expect(await page.getByRole("region", { name: "summary" }).innerText()).toMatch(/10 of 20\s*trajectories\s*80/);
    expect(await page.locator("tbody tr").count()).toBe(20);
    expect(await page.locator("tbody tr td.words").first().innerText()).toContain("Hi! I'm looking to book");
    // A later tab also knows the token.
    const later = await page.context().newPage();
    await later.goto(`${served.url}/${addressOf({ group: 2 })}`);
    await later.getByRole("heading", { name: "4 trajectories" }).waitFor();
  });

  it("shows rows while it reads, a view until the next is there, and a bar for a change and the end", async () => {
    const file = fileOf("g.jsonl", [groupLine([0, 1]), groupLine([1, 0.5])].join("\n"));
    const { page, viewing: served } = await openPage([file], { hasTroubles: true });
    await page.clock.install();
    await page.route("**/api/state*", async (route) => {
      const response = await route.fetch();
      const state: object = await response.json();
      await route.fulfill({ response, json: { ...state, progress: { phase: "reading", done: 1, of: 4 } } });
    });
    await page.reload();
    await page.locator(".rows td.words a").first().waitFor();
    const parts = async () => [
      await page.locator(".charts").isVisible(),
      await page.locator(".facts dl").first().isVisible(),
    ];
    expect([await page.locator(".reading").innerText(), await parts()]).toEqual(["reading, 25%", [false, false]]);
    await page.unroute("**/api/state*");
    await expect.poll(parts).toEqual([true, true]);

    await page.locator(".rows td.words a").first().click();
    const title = async () => await page.locator(".way b").innerText();
    await expect.poll(title).toBe("group 1 of 2");
    const next = new AbortController();
    await page.route("**/api/group*", async (route) => {
      await waitForAbort(next.signal);
      await route.continue();
    });
    await Promise.all([page.waitForRequest("**/api/group*"), pressKeys(page, "n")]);
    const isBusy = async () => await page.locator("main").getAttribute("aria-busy");
    expect([await title(), await isBusy()]).toEqual(["group 1 of 2", "true"]);
    next.abort();
    await expect.poll(async () => [await title(), await isBusy()]).toEqual(["group 2 of 2", "false"]);

    appendFileSync(file, `\n${groupLine([1, 0])}`);
    await page.clock.fastForward(5000);
    await page.getByText("the input has changed or grown since it was read").waitFor();
    await page.getByRole("button", { name: "reload" }).click();
    await expect.poll(title).toBe("group 2 of 3");
    served.child.kill();
    await served.ended;
    await page.clock.fastForward(5000);
    await page.getByText("rollcall view has ended").waitFor();
    expect(await title()).toBe("group 2 of 3");
  });

  it("names the parts of a view that were not loaded before the end", async () => {
    const { page } = await openPage([fileOf("g.jsonl", groupLine([0, 1]))], { hasTroubles: true });
    await page.route("**/api/trajectory*", async (route) => await route.abort());
    await page.locator(".rows td.words a").first().click();
    await page.locator(".common summary").click();
    await expect
      .poll(async () => await page.locator(".column [role=alert], .common [role=alert]").allInnerTexts())
      .toEqual(["not loaded", "not loaded", "not loaded"]);
    await page.route("**/api/rows*", async (route) => await route.abort());
    await pressKeys(page, "Escape");
    await page.getByRole("link", { name: "trainable", exact: true }).click();
    await page.getByText("not loaded").waitFor();
    expect(await page.locator("tbody tr").count()).toBe(0);
  });

  it("draws the rewards of each group in one scale of colors, with axes and counts", async () => {
    const { page } = await openPage([airline]);
    await page.locator("tbody tr").nth(1).getByRole("img", { name: "rewards 0, 0, 0, 1" }).waitFor();
    const colorsOf = async (selector: string, property: string) =>
      await page.evaluate<string[]>(
        `[...document.querySelectorAll("${selector}")].map((one) => getComputedStyle(one).${property})`,
      );
    const bars = await colorsOf("tbody tr:nth-child(2) .strip i", "backgroundColor");
    const chart = page.locator("figure", { has: page.getByRole("group", { name: "trajectories by reward" }) });
    await expect
      .poll(async () => await chart.locator("text").allTextContents())
      .toEqual(["60", "0", "0", "1", "60", "20"]);
    const drawn = await colorsOf("rect.bar", "fill");
    expect(bars).toEqual([drawn[0], drawn[0], drawn[0], drawn[1]]);
    expect(drawn[0]).not.toBe(drawn[1]);
  });

  it("shows all digits of each number in the table, without a second scroll bar", async () => {
    const rewards = [0.5, -0.00201, 0.0978, -1234567.5, 617_283.5, 1e-9];
    const lines = Array.from({ length: 60 }, (_, at) => groupLine([rewards[at % 6] ?? 0, 0]));
    const file = fileOf("digits.jsonl", lines.join("\n"));
    const { page } = await openPage([file]);
    for (const [width, height] of [
      [390, 844],
      [800, 800],
      [1000, 800],
      [1280, 800],
      [1920, 1080],
    ] as const) {
      await page.setViewportSize({ width, height });
      expect((await page.locator(".rows td.words").first().boundingBox())?.width).toBeGreaterThan(150);
      const cut = await page.evaluate(
        "[...document.querySelectorAll('.rows td:not(.words)')].filter((one) => one.scrollWidth > one.clientWidth).length",
      );
      expect([width, cut]).toEqual([width, 0]);
      const excess = await page.evaluate<number>("document.documentElement.scrollHeight - innerHeight");
      if (width >= 1000) expect([width, excess]).toEqual([width, 0]);
    }
  });

  it("has one tab stop per chart, with arrow keys, and keeps the focus after the removal of a filter", async () => {
    const { page } = await openPage([airline]);
    await page.getByRole("link", { name: "20 trajectories with a reward of 1" }).waitFor();
    const focused = async () =>
      await page.evaluate<string>(
        "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent",
      );
    const seen: string[] = [];
    while (seen.length < 20 && seen.at(-1) !== "group") {
      await pressKeys(page, "Tab");
      seen.push(await focused());
    }
    expect(seen).toContain("trajectories by reward");
    expect(seen).toContain("group");
    expect(seen.filter((name) => / of \d/.test(name))).toEqual([]);
    await page.getByRole("group", { name: "trajectories by reward" }).focus();
    await pressKeys(page, "ArrowRight", "ArrowRight");
    expect(await focused()).toBe("20 trajectories with a reward of 1");
    await pressKeys(page, "Enter");
    const filter = page.getByRole("link", { name: "a reward of 1 ×" });
    expect(await filter.getAttribute("aria-current")).toBe("true");
    await filter.focus();
    await pressKeys(page, "Enter");
    await filter.waitFor({ state: "detached" });
    expect(await focused()).toBe("filters");
  });

  it("scrolls to the match of a search in a conversation", async () => {
    const line = groupLine([0, 1], { answer: `${"word\n".repeat(200)}Newark` });
    const { page } = await openPageAt({ group: 1, trajectory: 1, text: "Newark" }, [fileOf("g.jsonl", line)]);
    await page.locator(".entry pre mark").waitFor();
    await expect.poll(async () => await page.evaluate("scrollY > 0")).toBe(true);
  });

  it("shows the trajectories of a group from 360 pixels on, below the prompt, and 16 without a scroll bar", async () => {
    const prompt = `${"word ".repeat(30)}end`;
    const rewards = [0, 1, 0, 1];
    const lines = [groupLine(rewards, { prompt }), groupLine(Array.from({ length: 16 }, (_, at) => at))];
    const { page, viewing: served } = await openPageAt({ group: 1 }, [fileOf("g.jsonl", lines.join("\n"))]);
    await page.locator(".column .entry").first().waitFor();
    expect((await page.locator(".column h2").first().boundingBox())?.y).toBeLessThanOrEqual(360);
    await page.getByRole("heading", { name: `${prompt} 4 trajectories` }).waitFor();
    await page.goto(`${served.url}/${addressOf({ group: 2 })}`);
    await page.getByRole("heading", { name: "16 trajectories" }).waitFor();
    expect(
      await page.evaluate("((box) => box.scrollHeight - box.clientHeight)(document.querySelector('.members'))"),
    ).toBe(0);
  });

  it("shows the mean reward and the reward of a trajectory in the largest letters", async () => {
    const { page, viewing: served } = await openPage([airline]);
    for (const [view, number] of [
      ["#/", ".facts dd > .mean"],
      [addressOf({ group: 2 }), ".position .mean"],
      [addressOf({ group: 2, trajectory: 2 }), ".position .reward"],
    ] as const) {
      await page.goto(`${served.url}/${view}`);
      await page.locator(number).waitFor();
      const larger = await page.evaluate(`((size) =>
        [...document.querySelectorAll("main *")].filter((one) => size(one) >= size(document.querySelector("${number}")))
          .map((one) => one.className).filter((name) => !/mean|reward|swatch/.test(name)))
        ((one) => parseFloat(getComputedStyle(one).fontSize))`);
      expect([view, larger]).toEqual([view, []]);
    }
  });

  it("restores the table and its place on return", async () => {
    const lines = Array.from({ length: 200 }, (_, at) =>
      groupLine([at < 2 ? at : 0, at], { prompt: `task ${at + 1}` }),
    );
    const { page } = await openPage([fileOf("many.jsonl", lines.join("\n"))]);
    const query = addressOf({ sort: "mean", descending: true, page: 2, trainable: true, text: "task" });
    await page.evaluate(`location.hash = "${query}"`);
    await expect.poll(async () => await page.locator("tbody tr").first().innerText()).toContain("task 100");
    await expect.poll(async () => await page.locator(".count").innerText()).toBe("198 of 200 groups");
    await page.evaluate("document.querySelector('.rows').scrollTo({ top: 340 })");
    await page.getByText("task 88", { exact: true }).click();
    await page.locator(".column .entry").first().waitFor();
    await pressKeys(page, "Escape");
    await expect
      .poll(async () => await page.evaluate("document.activeElement.closest('tr')?.innerText"))
      .toContain("task 88");
    await expect.poll(async () => await hash(page)).toBe(query);
    expect(await page.evaluate("document.querySelector('.rows').scrollTop")).toBe(340);
  });

  it("reaches all metrics and columns by scrolling on a small screen", async () => {
    const names = Array.from({ length: 20 }, (_, at) => `metric_${at}`);
    const { trajectories } = JSON.parse(groupLine([0, 1]));
    const metrics = Object.fromEntries(names.map((name, at) => [name, at]));
    const group = JSON.stringify({ trajectories: trajectories.map((one: object) => ({ ...one, metrics })) });
    const size = { width: 360, height: 740 };
    const { page, viewing: served } = await openPage([fileOf("metrics.jsonl", group)], size);
    const hidden = "((cell) => cell.scrollWidth - cell.clientWidth)(document.querySelector('[aria-sort$=scending]'))";
    for (const name of ["group", "mean", "spread", "size", "trainable", "problems"]) {
      const heading = page.getByRole("columnheader", { name });
      // A column that has no space is named above the table.
      await page.getByRole("button", { name, exact: true }).click();
      await heading.getByText(/[↑↓]/).waitFor();
      expect([name, await page.evaluate(hidden)]).toEqual([name, 0]);
    }
    // A row has two lines: its numbers, and its prompt.
    expect((await page.locator(".rows tbody tr").boundingBox())?.height).toBeGreaterThan(40);
    expect((await page.locator(".rows tbody td.words").boundingBox())?.width).toBeGreaterThan(300);
    await page.goto(`${served.url}/${addressOf({ group: 1 })}`);
    await page.locator(".members th").first().waitFor();
    expect(await page.locator(".members th").allInnerTexts()).toEqual(expect.arrayContaining(names));
    await page.getByRole("columnheader", { name: "problems" }).scrollIntoViewIfNeeded();
    expect((await page.getByRole("link", { name: "trajectory 1" }).first().boundingBox())?.x).toBeGreaterThan(0);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(360);
  });

  it("moves nothing on the screen while it reads, changes the view or searches", async () => {
    const { page: first, viewing: served } = await openPage([airline, "test/samples/wordle.trajectories.jsonl"]);
    const page = await first.context().newPage();
    await page.addInitScript(`window.moved = 0;
      new PerformanceObserver((list) => { for (const { value } of list.getEntries()) window.moved = Math.max(window.moved, value); })
        .observe({ type: "layout-shift", buffered: true });`);
    await page.goto(`${served.url}/#/`);
    await page.locator(".rows td.words a").first().waitFor();
    await page.locator("header .reading:empty").waitFor({ state: "attached" });
    for (const [view, there] of [
      [addressOf({ group: 2 }), ".column .entry"],
      [addressOf({ group: 2, trajectory: 2 }), "article .entry"],
      [addressOf({ text: "flight" }), ".rows td.words a"],
      [addressOf({ group: 3 }), ".column .entry"],
    ] as const) {
      await page.evaluate(`location.hash = ${JSON.stringify(view)}`);
      await page.locator(there).first().waitFor();
    }
    // The largest layout shift. Web Vitals calls 0.1 good. A row of numbers that gets wider has 0.001, and how often
    // that happens depends on the machine.
    expect(await page.evaluate("window.moved")).toBeLessThan(0.01);
  });

  it.each([
    ["light", false],
    ["dark", true],
  ])(
    "has a contrast of at least 4.5 between each text and its %s background, and of 3 for graphics",
    async (_, dark) => {
      const { page, viewing: served } = await openPage([airline], { dark });
      for (const view of [
        ...views,
        addressOf({ text: "Newark" }),
        addressOf({ reward: [0, 0] }),
        addressOf({ group: 2, trajectory: 1, text: "Newark" }),
      ]) {
        await page.goto(`${served.url}/${view}`);
        await page.locator("main h1").waitFor();
        await page.locator(".column .entry, .talk .entry, .rows td.words a").first().waitFor();
        expect([view, await page.evaluate(lowContrasts)]).toEqual([view, []]);
      }
    },
  );

  it("has an accessible name for every control and region", async () => {
    const { page, viewing: served } = await openPage([airline, "test/samples/wordle.trajectories.jsonl"]);
    for (const view of views) {
      await page.goto(`${served.url}/${view}`);
      await page.locator("main h1").waitFor();
      await page.locator("main a").first().waitFor();
      const snapshot = await page.locator("body").ariaSnapshot();
      const unnamed = snapshot
        .split("\n")
        .filter((line) =>
          /^\s*- '?(?:link|button|searchbox|textbox|img|figure|region|table|heading)(?::|$)/.test(line),
        );
      expect([view, unnamed]).toEqual([view, []]);
    }
  });

  it("has readable letters and lines of limited length on the widest screens", async () => {
    const { page, viewing: served } = await openPage([airline], { width: 3840, height: 2160 });
    const rows = await page.locator(".rows").boundingBox();
    expect((rows?.y ?? 0) + (rows?.height ?? 0)).toBeLessThanOrEqual(2160);
    await page.goto(`${served.url}/${addressOf({ group: 2, trajectory: 2 })}`);
    await page.locator(".entry pre").first().waitFor();
    expect(
      await page.evaluate("parseFloat(getComputedStyle(document.querySelector('.who')).fontSize)"),
    ).toBeGreaterThan(16);
    expect((await page.locator(".entry pre").first().boundingBox())?.width).toBeLessThan(1600);
  });

  it("shows the problems, whole charts, then the table with the mean reward at 390 pixels", async () => {
    const { page } = await openPage([airline], { width: 390, height: 800 });
    const tops = await page.evaluate<number[]>(
      "['.facts dl', '.charts', '.rows'].map((found) => document.querySelector(found).getBoundingClientRect().top)",
    );
    expect(tops).toEqual(tops.toSorted((a, b) => a - b));
    const widths = "[...document.querySelectorAll('.charts')].map((charts) => charts.scrollWidth - charts.clientWidth)";
    expect(await page.evaluate(widths)).toEqual([0]);
    const [mean, strip, rows] = await Promise.all(
      ["tbody .reward", "tbody .strip", ".rows"].map((found) => page.locator(found).first().boundingBox()),
    );
    for (const one of [mean, strip]) {
      expect((one?.x ?? 390) + (one?.width ?? 0)).toBeLessThanOrEqual((rows?.x ?? 0) + (rows?.width ?? 0));
    }
  });

  it("has sizes that follow the browser's text size, and targets of at least 24 pixels", async () => {
    const { page } = await openPage([airline]);
    const sizes = async () =>
      await page.evaluate<number[]>(
        "['.charts', '.rows tbody tr', '.filters a'].map((found) => document.querySelector(found).getBoundingClientRect().height)",
      );
    const before = await sizes();
    const low =
      "[...document.querySelectorAll('header a, main a, button, input')].filter((one) => !one.closest('svg, tbody') && one.getBoundingClientRect().height < 24).map((one) => one.outerHTML)";
    expect(await page.evaluate(low)).toEqual([]);
    const devTools = await page.context().newCDPSession(page);
    await devTools.send("Page.setFontSizes", { fontSizes: { standard: 20 } });
    await expect.poll(sizes).toEqual(before.map((size) => expect.closeTo(1.25 * size, -0.5)));
  });

  it("opens a group by a click on any part of its row, and in a new tab with Ctrl-click", async () => {
    const { page } = await openPage([airline]);
    const [tab] = await Promise.all([
      page.context().waitForEvent("page"),
      page
        .locator(".rows td.words a")
        .first()
        .click({ modifiers: ["Control"] }),
    ]);
    await tab.getByRole("heading", { name: "4 trajectories" }).waitFor();
    expect(await hash(page)).toBe("#/");
    await page.locator("tbody tr").nth(1).locator("td").last().click({ force: true });
    await expect.poll(async () => await hash(page)).toBe(addressOf({ group: 2 }));
  });

  it("fits 360 pixels, except for areas that scroll", async () => {
    const { page, viewing: served } = await openPage([airline], { width: 360, height: 740 });
    for (const view of views) {
      await page.goto(`${served.url}/${view}`);
      await page.locator("main h1").waitFor();
      expect([view, await page.evaluate("document.documentElement.scrollWidth")]).toEqual([view, 360]);
    }
    await page.goto(`${served.url}/${addressOf({ group: 2, trajectory: 2 })}`);
    // A name and its value are on one line.
    expect((await page.getByText("advantage +0.75").boundingBox())?.height).toBeLessThan(30);
  });

  it("shows the table without charts if every line is broken", async () => {
    const { page } = await openPage([fileOf("broken.jsonl", '{"trajectories":[\nno\n')]);
    await page.getByText("2 of 2 groups").waitFor();
    expect(await page.locator("figure").count()).toBe(0);
    await page.locator(".rows td.words a").first().click();
    await page.locator(".problem.error").waitFor();
    expect(await page.locator(".members").count()).toBe(0);
  });

  it("limits the height of large groups", async () => {
    const rewards = Array.from({ length: 200 }, (_, at) => at);
    const { page } = await openPageAt({ group: 1 }, [fileOf("g.jsonl", groupLine(rewards))]);
    await page.locator(".column h2 a").nth(3).waitFor();
    expect((await page.locator(".members").boundingBox())?.height).toBeLessThan(860);
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
  });

  it("finds a text in any case unless it has capitals, names a text without a hit, and opens a group at a position", async () => {
    const lines = ["to Newark", "to École", "to newark"].map((prompt) => groupLine([0, 1], { prompt }));
    const { page } = await openPage([fileOf("step-6.jsonl", lines.join("\n").replace("É", "\\u00c9"))]);
    const rows = async () => await page.locator(".rows td.words a, .rows .quiet").allTextContents();
    const field = page.getByRole("searchbox", { name: "search text" });
    for (const [text, found] of [
      ["newark", ["to Newark", "to newark"]],
      ["Newark", ["to Newark"]],
      ["école", ["to École"]],
      ["nowhere", ["no group contains “nowhere”"]],
    ] as const) {
      await field.fill(text);
      await expect.poll(rows).toEqual(found);
    }
    await page.evaluate(`location.hash = "${addressOf({ sort: "mean" })}"`);
    await page.keyboard.press("Escape");
    await expect.poll(rows).toEqual(["to Newark", "to École", "to newark"]);
    for (const isFiltered of [true, false]) {
      await field.fill("step-6.jsonl:2");
      if (isFiltered) await expect.poll(rows).toEqual(["to École"]);
      await field.press("Enter");
      await page.getByRole("heading", { name: "to École" }).waitFor();
      expect(await hash(page)).toBe(addressOf({ group: 2 }));
      await page.goBack();
      await expect.poll(rows).toEqual(["to Newark", "to École", "to newark"]);
      expect(await hash(page)).toBe(addressOf({ sort: "mean" }));
    }
  });

  it("takes a text in any script up to a maximum length, and prints that length", async () => {
    const { page } = await openPage([airline]);
    const count = page.locator(".count");
    const field = page.getByRole("searchbox", { name: "search text" });
    await field.fill("木".repeat(2000));
    await field.press("Enter");
    await expect.poll(async () => await count.innerText()).toBe("0 of 20 groups");
    await field.fill("木".repeat(2001));
    await field.press("Enter");
    const said = await page.evaluate("document.querySelector('input:invalid').validationMessage");
    expect(said).toBe("at most 2,000 characters, found 2,001");
    expect(await count.innerText()).toBe("0 of 20 groups");
  });
});
