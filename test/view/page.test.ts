import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { chromium, type TabOptions } from "../support/browser.ts";
import { hash, type Shown, shownPage, typed } from "./shown.ts";
import { fileOf, groupLine, viewing } from "./viewing.ts";

const airline = "test/samples/airline.groups.jsonl";
const wordle = ["test/samples/wordle.trajectories.jsonl", "--group-by", "prompt_id"];

/** A page of `rollcall view` with these words. */
const shown = async (args: readonly string[], size?: TabOptions): Promise<Shown> =>
  await shownPage(await viewing(args), size);

describe.skipIf(chromium === undefined)("the page of rollcall view", () => {
  it("shows what was read, and takes the token out of the address", async () => {
    const { page, viewing: served, troubles } = await shown([airline]);
    expect(await hash(page)).toBe("#/");
    expect(await page.getByRole("region", { name: "what was read" }).innerText()).toMatch(/20 groups[\s\S]*80 traj/);
    expect(await page.locator("tbody tr[data-at]").count()).toBe(20);
    expect(await page.locator("tbody tr[data-at] td.words").first().innerText()).toContain("Hi! I'm looking to book");
    // A tab that is opened later knows the token too.
    const later = await page.context().newPage();
    await later.goto(`${served.url}/#/group/2`);
    await later.getByRole("heading", { name: "4 trajectories" }).waitFor();
    expect(troubles).toEqual([]);
  });

  it("filters by a bar and by a dot, and takes it back", async () => {
    const { page, troubles } = await shown([airline]);
    const count = page.locator(".count");
    await page.getByRole("link", { name: "20 trajectories with a reward of 1" }).click();
    await expect.poll(async () => await count.innerText()).toBe("12 of 20 groups");
    expect(await hash(page)).toBe("#/?reward=1%2C1");
    await page.getByRole("link", { name: /a reward of 1 ×/ }).click();
    await expect.poll(async () => await count.innerText()).toBe("20 of 20 groups");
    await page.getByRole("link", { name: /with a mean of 0 and a spread of 0/ }).click();
    await expect.poll(async () => await count.innerText()).toBe("8 of 20 groups");
    await page.getByRole("link", { name: "mean", exact: true }).click();
    expect(await page.getByRole("columnheader", { name: "mean" }).getAttribute("aria-sort")).toBe("descending");
    expect(troubles).toEqual([]);
  });

  it("has a bar for all rewards up to the next, and draws those of any size", async () => {
    const rewards = Array.from({ length: 25 }, (_, at) => groupLine([at, at]));
    const { page, troubles } = await shown([fileOf("many.jsonl", rewards.join("\n"))]);
    await page.getByRole("link", { name: "2 trajectories with a reward of 5 to below 6" }).click();
    await expect.poll(async () => await page.locator(".count").innerText()).toBe("1 of 25 groups");
    expect(await hash(page)).toBe("#/?reward=5%2C6%2Cbelow");
    expect(await page.locator("a.on rect.bar").count()).toBe(1);
    const { page: wide } = await shown([fileOf("wide.jsonl", `${groupLine([-1e308, 1e308])}\n${groupLine([1e308])}`)]);
    await wide.getByRole("link", { name: "2 trajectories with a reward of 1.00e+308" }).waitFor();
    await expect.poll(async () => await wide.locator("circle").count()).toBe(2);
    const places: readonly string[] = await wide.evaluate(
      "[...document.querySelectorAll('circle')].flatMap((one) => [one.getAttribute('cx'), one.getAttribute('cy')])",
    );
    expect(places.map((place) => Number(place.replace("%", ""))).every((at) => at >= 0 && at <= 100)).toBe(true);
    expect(troubles).toEqual([]);
  });

  it("has a line for each run, and names the runs", async () => {
    const folder = dirname(fileOf("notes.txt", ""));
    for (const [at, file] of ["run-a/step-1", "run-a/step-2", "run-b/step-1", "run-b/step-2"].entries()) {
      mkdirSync(join(folder, dirname(file)), { recursive: true });
      writeFileSync(join(folder, `${file}.jsonl`), groupLine([at, at + 1]));
    }
    const { page, troubles } = await shown([folder]);
    await expect.poll(async () => await page.locator("line.step").count()).toBe(2);
    expect(await page.getByRole("list", { name: "runs" }).getByRole("listitem").allTextContents()).toEqual([
      "run-a",
      "run-b",
    ]);
    expect(troubles).toEqual([]);
  });

  it("has columns of tokens and cost where they are recorded", async () => {
    const used = { usage: { total_tokens: 1500, cost: 0.25 } };
    const { trajectories } = JSON.parse(groupLine([0, 1]));
    const group = JSON.stringify({ trajectories: trajectories.map((one: object) => ({ ...one, ...used })) });
    const { page, troubles } = await shown([fileOf("used.jsonl", `${group}\n${groupLine([0, 1])}\n`)]);
    await page.getByRole("columnheader", { name: "cost" }).waitFor();
    const [first = "", second = ""] = await page.locator("tbody tr[data-at]").allInnerTexts();
    expect([first.trimEnd().split("\t").slice(-2), second]).toEqual([
      ["3,000", "0.5"],
      expect.not.stringMatching(/yes\t+\S/),
    ]);
    const { page: other } = await shown([airline]);
    await other.locator(".reading").filter({ hasNotText: "measuring" }).waitFor({ state: "attached" });
    expect(await other.getByRole("columnheader", { name: "cost" }).count()).toBe(0);
    expect(troubles).toEqual([]);
  });

  it("searches from the keyboard, and has what was searched for in the address", async () => {
    const { page, troubles } = await shown([airline]);
    await typed(page, "/");
    await page.keyboard.type("change my return flight");
    await expect.poll(async () => await page.locator(".count").innerText()).toBe("1 of 20 groups");
    expect(await hash(page)).toBe("#/?text=change+my+return+flight");
    await page.getByRole("searchbox", { name: "where" }).fill("reward > 2.0");
    await page.keyboard.press("Enter");
    await expect.poll(async () => await page.locator(".count").innerText()).toBe("0 of 20 groups");
    await page.getByRole("searchbox", { name: "where" }).fill("reward >");
    await page.keyboard.press("Enter");
    await page.locator(".count .trouble").waitFor();
    expect(await page.locator(".count").innerText()).toMatch(/^no groups are shown: \S/);
    expect(await page.locator("tbody tr[data-at]").count()).toBe(0);
    expect(troubles.filter((text) => !text.includes("400"))).toEqual([]);
  });

  it("goes through all views by keys alone, and back", async () => {
    const { page, troubles } = await shown([airline]);
    await typed(page, "j", "j", "k", "j", "Enter");
    await page.getByRole("heading", { name: "4 trajectories" }).waitFor();
    expect(await hash(page)).toBe("#/group/2");
    await page.locator(".column .entry").first().waitFor();
    await typed(page, "n");
    await page.getByText("group 3 of 20").waitFor();
    await typed(page, "p");
    await page.getByText("group 2 of 20").waitFor();
    await typed(page, "j", "Enter");
    await page.getByRole("heading", { name: "reward 1" }).waitFor();
    expect(await hash(page)).toBe("#/group/2/2");
    await typed(page, "j", "j");
    expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe("message 2, user");
    await typed(page, "r");
    await page.getByRole("region", { name: "raw JSON" }).waitFor();
    await typed(page, "r", "?");
    await page.getByRole("region", { name: "keys" }).waitFor();
    await typed(page, "Escape", "Escape");
    await page.getByText("group 2 of 20").waitFor();
    await typed(page, "Escape");
    await page.locator(".rows").waitFor();
    expect(await hash(page)).toBe("#/");
    expect(troubles).toEqual([]);
  });

  it("goes back to the table as it was left, and from group to group in its order", async () => {
    const lines = Array.from({ length: 200 }, (_, at) => groupLine([at % 2, at], { prompt: `task ${at + 1}` }));
    const { page, troubles } = await shown([fileOf("many.jsonl", lines.join("\n"))]);
    await page.evaluate("location.hash = '#/?sort=most&descending=true&trainable=true&text=task'");
    await page.getByText("task 200", { exact: true }).waitFor();
    const table = await hash(page);
    await page.evaluate("document.querySelector('.rows').scrollTo({ top: 3400 })");
    await page.getByText("task 99", { exact: true }).click();
    await page.getByText("group 99 of 200").waitFor();
    expect(await page.title()).toBe("group 99 · rollcall view");
    await page.locator(".column .entry").first().waitFor();
    await typed(page, "n", "n", "p", "p", "n");
    await page.getByText("group 98 of 200").waitFor();
    await page.locator(".column .entry").first().waitFor();
    await typed(page, "j", "Enter");
    await page.getByText("trajectory 2 of 2").waitFor();
    expect(await page.title()).toBe("trajectory 2 of group 98 · rollcall view");
    await typed(page, "p");
    await page.getByText("trajectory 1 of 2").waitFor();
    expect(await page.title()).toBe("trajectory 1 of group 98 · rollcall view");
    expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe("trajectory 1 of group 98");
    await typed(page, "Escape");
    await page.getByText("group 98 of 200").waitFor();
    await typed(page, "?");
    expect(await page.getByRole("region", { name: "keys" }).innerText()).not.toContain("search");
    await typed(page, "Escape", "Escape");
    await expect
      .poll(async () => await page.evaluate("document.activeElement.closest('tr')?.innerText"))
      .toContain("task 98");
    expect(await hash(page)).toBe(table);
    expect(await page.evaluate("document.querySelector('.rows').scrollTop")).toBe(3400);
    await typed(page, "Enter");
    await page.getByRole("link", { name: "groups", exact: true }).click();
    await page.getByText("task 98", { exact: true }).waitFor();
    expect(await hash(page)).toBe(table);
    expect(troubles).toEqual([]);
  });

  it("has results beside their calls, and the place, the command and the JSON to take along", async () => {
    const { page, viewing: served, troubles } = await shown([airline]);
    await page.goto(`${served.url}/#/group/2/2`);
    const call = page.locator(".call", { hasText: "get_user_details" }).first();
    expect(await call.innerText()).toMatch(
      /calls get_user_details[\s\S]*olivia_gonzalez_2305[\s\S]*result[\s\S]*Olivia/,
    );
    expect(await page.getByText(`${airline}:2`).count()).toBe(1);
    expect(await page.getByText("sed -n 2p").innerText()).toContain("| rollcall log my-model --split train -");
    await typed(page, "r");
    expect(await page.locator(".raw").innerText()).toBe((await served.ask("/api/groups/1/1")).body);
    expect(troubles).toEqual([]);
  });

  it("has problems at the messages that they are about, folded reasoning, and a tint where there are logprobs", async () => {
    const messages = [
      { role: "user", content: "2 + 2?" },
      { role: "robot", content: "beep" },
      {
        finish_reason: "stop",
        index: 0,
        message: { role: "assistant", content: "4!", reasoning_content: "it is four" },
        logprobs: {
          content: [
            { token: "4", logprob: -0.01 },
            { token: "!", logprob: -4.7 },
          ],
        },
      },
    ];
    const trajectories = [0, 1].map((reward) => ({ messages_and_choices: messages, reward }));
    const { page, viewing: served, troubles } = await shown([fileOf("g.jsonl", JSON.stringify({ trajectories }))]);
    await page.goto(`${served.url}/#/group/1/1`);
    expect(await page.getByRole("listitem", { name: "message 2, robot" }).innerText()).toContain("[role-unknown]");
    await typed(page, "j", "j", "j", "Enter");
    await page.getByText("it is four").waitFor();
    expect(await page.locator(".tokens span").allInnerTexts()).toEqual(["4", "!"]);
    expect(await page.locator(".tokens .p5").innerText()).toBe("!");
    expect(troubles).toEqual([]);
  });

  it("has JSON with the digits, the order and the repeated keys that it was written with", async () => {
    const given = '{"id": 12345678901234567890, "2": 1.0, "1": 0, "2": 2e0}';
    const function_ = { name: "book", arguments: given };
    const calls = {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "c", type: "function", function: function_ }],
    };
    const text = JSON.stringify({
      trajectories: [0, 1].map((reward) => ({ messages_and_choices: [calls], reward, metadata: "…" })),
    }).replaceAll('"…"', given);
    const { page, viewing: served, troubles } = await shown([fileOf("g.jsonl", text)]);
    await page.goto(`${served.url}/#/group/1/1`);
    await page.getByText("metadata").click();
    const laidOut = '{\n  "id": 12345678901234567890,\n  "2": 1.0,\n  "1": 0,\n  "2": 2e0\n}';
    expect(await page.locator(".call pre").innerText()).toBe(laidOut);
    expect(await page.locator("article details pre").last().innerText()).toBe(laidOut);
    expect(troubles).toEqual([]);
  });

  it("says of a line that can't be read that it is none of the trajectories", async () => {
    const { page, viewing: served, troubles } = await shown([fileOf("bad.jsonl", `${groupLine([0, 1])}\n{bad\n`)]);
    await page.goto(`${served.url}/#/group/2`);
    await page.getByRole("heading", { name: "a line that can't be read · not valid" }).waitFor();
    await page.goto(`${served.url}/#/group/1`);
    await page.getByRole("heading", { name: "2 trajectories" }).waitFor();
    expect(troubles).toEqual([]);
  });

  it("has all metrics of a group, and all columns of its table on a small screen, in what scrolls by itself", async () => {
    const names = Array.from({ length: 20 }, (_, at) => `metric_${at}`);
    const { trajectories } = JSON.parse(groupLine([0, 1]));
    const metrics = Object.fromEntries(names.map((name, at) => [name, at]));
    const group = JSON.stringify({ trajectories: trajectories.map((one: object) => ({ ...one, metrics })) });
    const size = { width: 360, height: 740 };
    const { page, viewing: served, troubles } = await shown([fileOf("metrics.jsonl", group)], size);
    const columns = ["group", "prompt", "size", "mean", "spread", "least", "most", "trainable", "problems"];
    const headings = page.locator(".rows th");
    expect((await headings.allInnerTexts()).map((text) => text.split(" ")[0])).toEqual(columns);
    await page.getByRole("columnheader", { name: "problems" }).scrollIntoViewIfNeeded();
    expect(await page.evaluate("document.querySelector('.rows').scrollLeft")).toBeGreaterThan(0);
    await page.goto(`${served.url}/#/group/1`);
    await page.locator(".members th").first().waitFor();
    expect(await page.locator(".members th").allInnerTexts()).toEqual(expect.arrayContaining(names));
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(360);
    await page.goto(`${served.url}/#/call/x`);
    await page.getByText("groups are shown here, no calls").waitFor();
    expect(troubles).toEqual([]);
  });

  it.each([
    wordle,
    ["test/samples/formats/verifiers-v0.wordle.results.jsonl"],
    ["test/samples/formats/tau2.results.json"],
  ])("shows each group and trajectory of %s", async (...args) => {
    const { page, viewing: served, troubles } = await shown(args);
    await page.goto(`${served.url}/#/group/1`);
    await page.locator(".column .entry").first().waitFor();
    await page.goto(`${served.url}/#/group/1/1`);
    await page.locator("article .conversation .entry").first().waitFor();
    await page.goto(`${served.url}/#/problems`);
    await page.getByRole("heading", { name: "problems" }).waitFor();
    expect(troubles).toEqual([]);
  });

  it("moves nothing that is there: neither while it is read, nor from view to view, nor by a search", async () => {
    const { page: first, viewing: served } = await shown([airline, "test/samples/wordle.trajectories.jsonl"]);
    const page = await first.context().newPage();
    await page.addInitScript(`window.moved = 0;
      new PerformanceObserver((list) => list.getEntries().forEach(({ value }) => { window.moved += value; }))
        .observe({ type: "layout-shift", buffered: true });`);
    await page.goto(`${served.url}/#/`);
    await page.locator(".rows td.words a").first().waitFor();
    await page.locator("header .reading:empty").waitFor({ state: "attached" });
    for (const [view, there] of [
      ["#/group/2", ".column .entry"],
      ["#/group/2/2", "article .entry"],
      ["#/problems", ".problem"],
      ["#/?text=flight", ".rows td.words a"],
      ["#/?where=reward+%3E+0.5", ".rows td.words a"],
      ["#/group/3", ".column .entry"],
    ] as const) {
      await page.evaluate(`location.hash = ${JSON.stringify(view)}`);
      await page.locator(there).first().waitFor();
    }
    // A figure below 0.1 is good to those who gave it its name; the axes' own numbers are all that comes later here.
    expect(await page.evaluate("window.moved")).toBeLessThan(0.003);
  });

  it("has a name for whoever hears it, of all that can be pressed, filled in, or gone to", async () => {
    const { page, viewing: served } = await shown([airline, "test/samples/wordle.trajectories.jsonl"]);
    for (const view of ["#/", "#/group/2", "#/group/2/2", "#/problems"]) {
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
    await page.goto(`${served.url}/#/`);
    await page.getByRole("group", { name: "mean reward by file" }).getByRole("link").first().waitFor();
    await page.getByRole("columnheader", { name: "spread" }).getByRole("link").click();
    expect(await page.getByRole("columnheader", { name: "spread" }).getAttribute("aria-sort")).toBe("descending");
    const table = page.getByRole("table", { name: "groups" });
    await expect.poll(async () => await table.getAttribute("aria-rowcount")).toBe("66");
  });

  it("marks where the trajectories of a group part, and folds what they begin with alike", async () => {
    const said = (...texts: readonly string[]) => texts.map((content) => ({ role: "user", content }));
    const trajectories = [said("a", "b", "c"), said("a", "b", "d"), said("a", "b")].map((messages, reward) => ({
      messages_and_choices: messages,
      reward,
    }));
    const { page, viewing: served } = await shown([fileOf("g.jsonl", JSON.stringify({ trajectories }))]);
    await page.goto(`${served.url}/#/group/1`);
    await page.getByText("the same 2 messages to begin with").waitFor();
    await page.locator(".column .parts").nth(2).waitFor();
    expect(await page.locator(".column .parts").allInnerTexts()).toEqual([
      "nothing follows what all of them have",
      "they part here",
      "they part here",
    ]);
    expect(await page.locator(".column .entry pre").allInnerTexts()).toEqual(["c", "d"]);
  });

  it("tints a text that its tokens or their bytes spell, alone or behind the reasoning, and leaves any other as it is", async () => {
    const choice = (
      message: object,
      tokens: readonly (readonly [token: string, bytes: readonly number[] | null])[],
    ) => ({
      finish_reason: "stop",
      index: 0,
      message: { role: "assistant", ...message },
      logprobs: { content: tokens.map(([token, bytes]) => ({ token, bytes, logprob: -1 })) },
    });
    const named = (...tokens: readonly string[]) => tokens.map((token) => [token, null] as const);
    const long = Array.from({ length: 4002 }, (_, at) => `w${at} `);
    const messages = [
      { role: "user", content: "2 + 2?" },
      choice({ content: "The answer" }, named("token_id:791", "token_id:4320")),
      choice({ content: "hi 🎉!" }, [
        ["hi", [104, 105]],
        [" \\xf0\\x9f", [32, 240, 159]],
        ["\\x8e\\x89", [142, 137]],
        ["!", [33]],
      ]),
      choice({ content: "four", reasoning_content: "2 and 2" }, named("2 and", " 2", "four")),
      choice({ content: "four", reasoning_content: "2 and 2" }, named("<think>", "2 and 2", "</think>", "four")),
      choice({ content: long.join("") }, named(...long)),
    ];
    const trajectories = [0, 1].map((reward) => ({ messages_and_choices: messages, reward }));
    const { page, viewing: served, troubles } = await shown([fileOf("g.jsonl", JSON.stringify({ trajectories }))]);
    await page.goto(`${served.url}/#/group/1/1`);
    const message = (at: number) => page.getByRole("listitem", { name: `message ${at}, assistant` });
    await message(2).getByText("its tokens don't spell the text").waitFor();
    expect(await message(2).locator("pre").allTextContents()).toEqual(["The answer"]);
    expect(await message(3).locator(".tokens span").allTextContents()).toEqual(["hi", " ", "🎉", "!"]);
    expect(await message(4).locator("pre.tokens").allTextContents()).toEqual(["2 and 2", "four"]);
    expect(await message(5).locator(".tokens").count()).toBe(0);
    expect(await message(5).locator("pre").allTextContents()).toEqual(["2 and 2", "four"]);
    await message(6).getByText("of its 4,002 tokens, the first 4,000 are tinted").waitFor();
    await message(6).getByRole("button", { name: "show all" }).click();
    expect(await message(6).locator("pre").textContent()).toBe(long.join(""));
    expect(await message(6).locator("span.p1").count()).toBe(4000);
    expect(troubles).toEqual([]);
  });

  it("takes hostile text for text", async () => {
    const hostile = [
      "</script><img src=x onerror=alert(1)>",
      '"><svg onload=alert(1)>',
      "<style>*{display:none}</style><iframe src=https://elsewhere.example>",
      "![x](https://elsewhere.example/x.png) javascript:alert(1)",
    ];
    const all = hostile.join("\u2028\u202e");
    const messages = [
      { role: "user", content: all },
      {
        role: all,
        content: [
          { type: "text", text: all },
          { type: "image_url", image_url: { url: "https://elsewhere.example/x.png" } },
          { type: "image_url", image_url: { url: "data:image/svg+xml;base64,PHN2Zy8+" } },
        ],
      },
      {
        role: "assistant",
        content: all,
        reasoning: all,
        tool_calls: [{ id: all, type: "function", function: { name: all, arguments: all } }],
      },
      { role: "tool", tool_call_id: all, content: all },
    ];
    const trajectories = [0, 1].map((reward) => ({
      messages_and_choices: reward === 0 ? messages : messages.slice(1),
      reward,
      metrics: { [all]: 1 },
      metadata: { [all]: all },
    }));
    const { page, viewing: served, troubles } = await shown([fileOf("<b>&.jsonl", JSON.stringify({ trajectories }))]);
    for (const view of ["#/", "#/group/1", "#/group/1/1", "#/problems"]) {
      await page.goto(`${served.url}/${view}`);
      await page
        .locator(view === "#/" ? ".rows td.words a" : view === "#/problems" ? ".problem" : ".entry")
        .first()
        .waitFor();
      expect(await page.evaluate("document.querySelectorAll('img, iframe, main style, main svg svg').length")).toBe(0);
    }
    expect(await page.evaluate("document.scripts.length")).toBe(1);
    expect(troubles).toEqual([]);
  });

  it("scrolls through a hundred thousand groups, and draws those on the screen", async () => {
    const lines = Array.from({ length: 100_000 }, (_, at) => groupLine([at % 2, 1], { prompt: `task ${at + 1}` }));
    const { page, troubles } = await shown([fileOf("many.jsonl", lines.join("\n"))]);
    await page.evaluate("document.querySelector('.rows').scrollTo({ top: 1e9 })");
    await page.getByText("task 100000", { exact: true }).waitFor();
    expect(await page.locator("tbody tr[data-at]").count()).toBeLessThan(60);
    await page.evaluate("document.querySelector('.rows').scrollTo({ top: 50000 * 34 })");
    await page.getByText("task 50001", { exact: true }).waitFor();
    expect(troubles).toEqual([]);
  });

  it("has letters on the widest screens that can be read, and lines that an eye finds back from", async () => {
    const { page, viewing: served } = await shown([airline], { width: 3840, height: 2160 });
    const [charts, rows] = [await page.locator(".charts").boundingBox(), await page.locator(".rows").boundingBox()];
    expect((charts?.x ?? 0) + (charts?.width ?? 0)).toBeLessThan(rows?.x ?? 0);
    expect((rows?.y ?? 0) + (rows?.height ?? 0)).toBeLessThanOrEqual(2160);
    await page.goto(`${served.url}/#/group/2/2`);
    await page.locator(".entry pre").first().waitFor();
    expect(
      await page.evaluate("parseFloat(getComputedStyle(document.querySelector('.who')).fontSize)"),
    ).toBeGreaterThan(16);
    expect((await page.locator(".entry pre").first().boundingBox())?.width).toBeLessThan(1600);
  });

  it("fits 360 pixels: nothing but what scrolls by itself is wider", async () => {
    const { page, viewing: served, troubles } = await shown([airline], { width: 360, height: 740 });
    for (const view of ["#/", "#/group/2", "#/group/2/2", "#/problems"]) {
      await page.goto(`${served.url}/${view}`);
      await page.locator("main h1").waitFor();
      expect([view, await page.evaluate("document.documentElement.scrollWidth")]).toEqual([view, 360]);
    }
    expect(troubles).toEqual([]);
  });

  it("asks for an expression in any script as long as its field takes it, and says how long that is", async () => {
    const { page } = await shown([airline]);
    const count = page.locator(".count");
    const where = page.getByRole("searchbox", { name: "where" });
    const long = (length: number) => `reward > 1.5 || "${"木".repeat(length - 24)}" == ""`;
    await where.fill(long(20_000));
    await where.press("Enter");
    await expect.poll(async () => await count.innerText()).toBe("0 of 20 groups");
    await where.fill(long(20_001));
    await where.press("Enter");
    const said = await page.evaluate("document.querySelector('input:invalid').validationMessage");
    expect(said).toBe("at most 20,000 characters: these are 20,001");
    expect(await count.innerText()).toBe("0 of 20 groups");
  });

  it("says of blank lines that there are no groups, and shows no figures of them", async () => {
    const served = await viewing([fileOf("blank.jsonl", "\n\n\n")]);
    const { page } = await shownPage(served, {}, served.address, "main h1");
    await page.getByText("what was read holds no groups").waitFor();
    const text = await page.locator("main").innerText();
    expect(text).toContain("blank.jsonl");
    expect(text).not.toMatch(/±|0 of 0/);
    expect(await page.locator("main svg, main table").count()).toBe(0);
  });

  it("goes on in the tab of an earlier run with the address of another, and says of a group that is not there that it is not", async () => {
    const { page, viewing: served } = await shown([airline]);
    served.child.kill("SIGINT");
    await served.ended;
    const again = await viewing([airline, "--port", new URL(served.url).port]);
    await page.reload();
    await page.getByText("the token is missing or wrong").waitFor();
    expect(await page.locator("header").innerText()).not.toContain("opening");
    await page.goto(again.address);
    await page.locator(".rows td.words a").first().waitFor();
    expect(await hash(page)).toBe("#/");
    await page.goto(`${again.url}/#/group/99`);
    await page.getByText("there is no such group here").waitFor();
  });

  it("says when rollcall view has ended", async () => {
    const { page, viewing: served } = await shown([airline]);
    served.child.kill("SIGINT");
    await served.ended;
    await page.evaluate("location.hash = '#/group/3'");
    await page.getByText("rollcall view has ended").waitFor();
  });
});
