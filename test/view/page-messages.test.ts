import { describe, expect, it } from "vitest";
import { chromium } from "../support/browser.ts";
import { addressOf, openedFile, openPage, openPageAt, pressKeys, writtenPage } from "./shown.ts";
import { fileOf, groupLine } from "./viewing.ts";

const airline = "test/samples/airline.groups.jsonl";
const wordle = ["test/samples/wordle.trajectories.jsonl", "--group-by", "prompt_id"];

describe.skipIf(chromium === undefined)("the page of rollcall view", { tags: "browser" }, () => {
  it("shows prose in a sans font, results next to calls, and a trajectory's position and JSON", async () => {
    const { page, viewing: served } = await openPageAt({ group: 2, trajectory: 2 }, [airline]);
    const call = page.locator(".call", { hasText: "get_user_details" }).first();
    expect(await call.innerText()).toMatch(
      /calls\s*get_user_details[\s\S]*olivia_gonzalez_2305[\s\S]*result[\s\S]*Olivia/,
    );
    const fontOf = async (selector: string) =>
      await page.evaluate<string>(`getComputedStyle(document.querySelector("${selector}")).fontFamily`);
    expect([await fontOf("pre.prose"), await fontOf(".call pre")]).toEqual([
      expect.stringContaining("sans-serif"),
      expect.stringContaining("monospace"),
    ]);
    expect(await page.getByText(`${airline}:2`).count()).toBe(1);
    await page.getByText("log this group").click();
    expect(await page.getByText("rollcall log").innerText()).toContain("--split my-split --where 'group.number == 2'");
    await pressKeys(page, "r");
    const { body } = await served.ask("/api/trajectory", { group: 2, trajectory: 2 });
    const raw = await page.locator(".raw").innerText();
    expect([raw.split("\n").length > 100, JSON.parse(raw)]).toEqual([true, JSON.parse(body)]);
  });

  it("shows problems at their messages, folds reasoning, and tints tokens with logprobs", async () => {
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
    const { page } = await openPageAt({ group: 1, trajectory: 1 }, [
      fileOf("g.jsonl", JSON.stringify({ trajectories })),
    ]);
    expect(await page.getByRole("listitem", { name: "message 2, robot" }).innerText()).toContain("[unknown-role]");
    await pressKeys(page, "j", "j", "j", "Enter");
    await page.getByText("it is four").waitFor();
    expect(await page.locator(".tokens span").allInnerTexts()).toEqual(["4", "!"]);
    expect(await page.locator(".tokens .p5").innerText()).toBe("!");
  });

  it("starts j and k at the visible messages if no message has the focus", async () => {
    const messages = Array.from({ length: 90 }, () => ({ role: "user", content: "word\nword" }));
    const trajectories = [0, 1].map((reward) => ({ messages_and_choices: messages, reward }));
    const { page, viewing: served } = await openPage([fileOf("g.jsonl", JSON.stringify({ trajectories }))]);
    const focused = async () => await page.evaluate("document.activeElement.getAttribute('aria-label')");
    for (const [key, message] of [
      ["j", "message 71, user"],
      ["k", "message 70, user"],
    ] as const) {
      await page.goto("about:blank");
      await page.goto(`${served.url}/${addressOf({ group: 1, trajectory: 1 })}`);
      await page.locator(".talk .entry").nth(70).waitFor();
      await page.evaluate("document.querySelectorAll('.talk .entry')[70].scrollIntoView()");
      // The navigation bar covers the previous message.
      await page.evaluate("scrollBy(0, 40)");
      await pressKeys(page, key);
      await expect.poll(focused).toBe(message);
    }
  });

  it("moves the focus to the JSON and back to the message by r, and from a search to the table by Escape", async () => {
    const { page, viewing: served } = await openPage([airline]);
    const focused = async () =>
      await page.evaluate("document.activeElement.ariaLabel ?? document.activeElement.className");
    await pressKeys(page, "/");
    expect(await focused()).toBe("search text");
    await pressKeys(page, "Escape");
    expect(await focused()).toBe("rows");
    await pressKeys(page, "/");
    expect(await focused()).toBe("search text");
    await page.goto(`${served.url}/${addressOf({ group: 2, trajectory: 2 })}`);
    await page.locator(".talk .entry").first().waitFor();
    await pressKeys(page, "j", "j", "j");
    const message = await focused();
    expect(message).toMatch(/^message \d/);
    await pressKeys(page, "r");
    await expect.poll(focused).toBe("raw JSON");
    await pressKeys(page, "r");
    await expect.poll(focused).toBe(message);
  });

  it("shows JSON with its own digits, order and repeated keys", async () => {
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
    const { page } = await openPageAt({ group: 1, trajectory: 1 }, [fileOf("g.jsonl", text)]);
    await page.getByText("metadata").click();
    const laidOut = '{\n  "id": 12345678901234567890,\n  "2": 1.0,\n  "1": 0,\n  "2": 2e0\n}';
    expect(await page.locator(".call pre").innerText()).toBe(laidOut);
    expect(await page.locator("article details pre").last().innerText()).toBe(laidOut);
  });

  it("shows an unreadable line with its text and the reason at its position, and offers no command", async () => {
    const file = fileOf("bad.jsonl", `${groupLine([0, 1])}\n{"a": bad\n`);
    const { page, viewing: served } = await openPageAt({ group: 2 }, [file]);
    await page.getByRole("heading", { name: "unreadable line · invalid" }).waitFor();
    expect(await page.locator(".column .problem").innerText()).toContain(
      `error ${file}:2:7 the word \`bad\` is not JSON`,
    );
    await page.locator(".column pre.raw").waitFor();
    expect(await page.locator(".column pre.raw").innerText()).toBe('{"a": bad');
    expect(await page.getByText("rollcall log").count()).toBe(0);
    await page.goto(`${served.url}/${addressOf({ group: 1 })}`);
    await page.getByRole("heading", { name: "2 trajectories" }).waitFor();
  });

  it.each([
    wordle,
    ["test/samples/formats/verifiers-v0.wordle.results.jsonl"],
    ["test/samples/formats/tau2.results.json"],
  ])("shows each group and trajectory of %s", async (...args) => {
    const { page, viewing: served } = await openPageAt({ group: 1 }, args);
    await page.locator(".column .entry").first().waitFor();
    await page.goto(`${served.url}/${addressOf({ group: 1, trajectory: 1 })}`);
    await page.locator("article .conversation .entry").first().waitFor();
    await page.goto(`${served.url}/${addressOf({ problems: "any" })}`);
    await page.getByRole("heading", { name: /problem/ }).waitFor();
  });

  it("titles a group with its prompt, sorts its trajectories, and keeps their names and rewards visible", async () => {
    const lines = groupLine([0.5, 0, 1], { prompt: "count the stars", answer: "many\n".repeat(400) });
    const { page, viewing: served } = await openPageAt({ group: 1 }, [fileOf("g.jsonl", lines)]);
    await page.getByRole("heading", { name: "count the stars 3 trajectories" }).waitFor();
    const names = async () => await page.locator(".members tbody a").allInnerTexts();
    expect(await names()).toEqual(["trajectory 3", "trajectory 1", "trajectory 2"]);
    await page.getByRole("button", { name: "metrics.turns" }).click();
    await expect.poll(names).toEqual(["trajectory 3", "trajectory 2", "trajectory 1"]);
    await page.getByRole("button", { name: "metrics.turns" }).click();
    await expect.poll(names).toEqual(["trajectory 1", "trajectory 2", "trajectory 3"]);
    await page.locator(".column .entry").nth(2).waitFor();
    await page.evaluate("scrollTo(0, document.querySelector('.beside').offsetTop + 300)");
    const [bar, name] = await Promise.all(
      [".position", ".column h2"].map((found) => page.locator(found).first().boundingBox()),
    );
    expect(Math.abs((name?.y ?? 0) - (bar?.y ?? 0) - (bar?.height ?? 1000))).toBeLessThan(2);
    expect(
      await page.evaluate(
        "document.querySelector('.beside').scrollHeight <= document.querySelector('.beside').clientHeight",
      ),
    ).toBe(true);
    await page.goto(`${served.url}/${addressOf({ group: 1, trajectory: 1 })}`);
    await page.locator("dl.metrics").waitFor();
    expect(await page.getByText("metrics", { exact: true }).count()).toBe(0);
  });

  it("shows the first different message of a group's trajectories, and folds their common start", async () => {
    const said = (...texts: readonly string[]) => texts.map((content) => ({ role: "user", content }));
    const trajectories = [said("a", "b", "c"), said("a", "b", "d"), said("a", "b")].map((messages, reward) => ({
      messages_and_choices: messages,
      reward,
    }));
    const { page } = await openPageAt({ group: 1 }, [fileOf("g.jsonl", JSON.stringify({ trajectories }))]);
    await page.getByText("2 messages at the start of all trajectories").waitFor();
    await page.locator(".column .parts").nth(2).waitFor();
    expect(await page.locator(".column .parts").allInnerTexts()).toEqual([
      "ends here",
      "marked words differ from trajectory 3",
      "marked words differ from trajectory 3",
    ]);
    expect(await page.locator(".column .entry pre").allInnerTexts()).toEqual(["c", "d"]);
  });

  it("tints a text only if its tokens or their bytes equal the text", async () => {
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
    const { page } = await openPageAt({ group: 1, trajectory: 1 }, [
      fileOf("g.jsonl", JSON.stringify({ trajectories })),
    ]);
    const message = (at: number) => page.getByRole("listitem", { name: `message ${at}, assistant` });
    await message(2).waitFor();
    expect(await message(2).locator("pre").allTextContents()).toEqual(["The answer"]);
    expect(await message(2).locator(".tokens").count()).toBe(0);
    expect(await message(3).locator(".tokens span").allTextContents()).toEqual(["hi", " ", "🎉", "!"]);
    for (const at of [4, 5]) {
      expect(await message(at).locator("pre").allTextContents()).toEqual(["2 and 2", "four"]);
      expect(await message(at).locator("pre.tokens").allTextContents()).toEqual(["four"]);
    }
    await message(6).getByRole("button", { name: "show all" }).click();
    expect(await message(6).locator("pre").textContent()).toBe(long.join(""));
    expect(await message(6).locator("span.p1").count()).toBe(4002);
  });

  it("names a group by its key in the table and in its title", async () => {
    const flat = (task: string, reward: number) => {
      const messages = [{ role: "user", content: "play" }];
      return JSON.stringify({ messages_and_choices: messages, reward, metadata: { task_id: task } });
    };
    const file = fileOf("g.jsonl", [flat("chess-7", 0), flat("chess-7", 1), flat("go", 0)].join("\n"));
    const { page, viewing: served } = await openPage([file, "--group-by", "task_id"]);
    expect(await page.locator(".rows tbody tr").allInnerTexts()).toEqual([
      expect.stringContaining("chess-7"),
      expect.stringContaining("go"),
    ]);
    await page.goto(`${served.url}/${addressOf({ group: 1 })}`);
    await page.getByRole("heading", { name: "play 2 trajectories · key chess-7" }).waitFor();
  });

  it("keeps the focus after each button, and unfolds all of a message with Enter", async () => {
    const long = Array.from({ length: 30 }, (_, at) => `line ${at}`).join("\n");
    const messages = [
      { role: "system", content: long },
      { role: "assistant", content: "ok", reasoning: "why" },
    ];
    const line = JSON.stringify({
      trajectories: [0, 1, 2, 3, 4, 5].map((reward) => ({ messages_and_choices: messages, reward })),
    });
    const { page, viewing: served } = await openPage([fileOf("g.jsonl", `${line}\n${line}\n${line}\n`)]);
    const focused = async () =>
      await page.evaluate<string>("document.activeElement.getAttribute('aria-label') ?? document.activeElement.name");
    await page.goto(`${served.url}/${addressOf({ group: 1 })}`);
    await page
      .getByRole("button", { name: /^show trajectory/ })
      .first()
      .click();
    expect(await focused()).toMatch(/^trajectory \d$/);
    for (const group of [2, 3]) {
      await page.locator("[name=after]").press("Enter");
      await page.getByText(`group ${group} of 3`).waitFor();
      await expect.poll(focused).toBe(group === 2 ? "after" : "group 3");
    }
    await page.goto(`${served.url}/${addressOf({ group: 1, trajectory: 1 })}`);
    await page.locator(".entry").first().waitFor();
    await pressKeys(page, "j", "Enter");
    expect(await page.locator(".entry pre").first().innerText()).toContain("line 29");
    await pressKeys(page, "Enter");
    expect(await page.locator(".entry pre").first().innerText()).not.toContain("line 29");
    await page.evaluate("navigator.clipboard.writeText = async () => { throw new Error('no'); }");
    await page.getByRole("button", { name: "copy the JSON" }).click();
    await page.getByRole("button", { name: "cannot copy" }).waitFor();
  });

  it("copies the file and line, the command or the JSON that a button names", async () => {
    const { page, viewing: served } = await openPage([airline]);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.goto(`${served.url}/${addressOf({ group: 2, trajectory: 2 })}`);
    const copied = async (name: string) => {
      await page.getByRole("button", { name }).click();
      await page.getByRole("button", { name: "copied" }).first().waitFor();
      return await page.evaluate("navigator.clipboard.readText()");
    };
    expect(await copied("copy the file and line")).toBe(`${airline}:2`);
    await page.getByText("log this group").click();
    expect(await copied("copy the command")).toMatch(/^rollcall log .*'group.number == 2'/);
    const { body } = await served.ask("/api/trajectory", { group: 2, trajectory: 2 });
    expect(await copied("copy the JSON")).toBe(body);
  });

  it("shows hostile text as text, also in an exported page", async () => {
    const hostile = [
      "</script><script>alert(1)</script><img src=x onerror=alert(1)>",
      "<!--<script>",
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
    const file = fileOf("<b>&.jsonl", JSON.stringify({ trajectories }));
    for (const { page } of [await openPage([file]), await openedFile((await writtenPage([file])).file)]) {
      for (const view of [{}, { group: 1 }, { group: 1, trajectory: 1 }, { problems: "any" }]) {
        await page.evaluate(`location.hash = "${addressOf(view)}"`);
        const found = "group" in view ? ".entry" : "problems" in view ? ".problem" : ".rows td.words a";
        await page.locator(found).first().waitFor({ state: "attached" });
        const loading = "document.querySelectorAll('img, iframe, main style, main svg svg').length";
        expect(await page.evaluate(loading)).toBe(0);
      }
      expect(await page.evaluate("document.querySelectorAll('script:not([type])').length")).toBe(1);
    }
  });
});
