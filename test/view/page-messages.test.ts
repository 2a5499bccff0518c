import { describe, expect, it } from "vitest";
import { chromium } from "../support/browser.ts";
import { addressOf, openedFile, openPage, openPageAt, pressKeys, writtenPage } from "./shown.ts";
import { fileOf, groupLine } from "./viewing.ts";

const airline = "test/samples/airline.groups.jsonl";

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
    await pressKeys(page, "r");
    const { body } = await served.ask("/api/trajectory", { group: 2, trajectory: 2 });
    const raw = await page.locator(".raw").innerText();
    expect([raw.split("\n").length > 100, JSON.parse(raw)]).toEqual([true, JSON.parse(body)]);
  });

  const reply = (message: object, finish_reason = "stop") => {
    return { finish_reason, index: 0, message: { role: "assistant", content: null, ...message } };
  };
  const callOf = (id: string, args: object) => {
    return { id, type: "function", function: { name: "run", arguments: JSON.stringify(args) } };
  };
  const thoughts = Array.from({ length: 60 }, (_, at) => `thought ${at}`).join("\n");
  const code = "def f(x):\n    return x";
  const work = [
    { role: "user", content: "question" },
    ...[0, 1].flatMap((at) => [
      reply({
        content: `try ${at}`,
        reasoning_content: thoughts,
        tool_calls: [callOf(`a${at}`, { code, n: 12, to: "x" })],
      }),
      { role: "tool", tool_call_id: `a${at}`, content: "Error: no such file" },
      reply({ tool_calls: [callOf(`b${at}`, { command: "ls -l" })] }),
      { role: "tool", tool_call_id: `b${at}`, content: "file\n".repeat(60) },
    ]),
    reply({ reasoning_content: thoughts }, "length"),
  ];
  const openWork = async (query: object) => {
    const trajectories = [0, 1].map((reward) => ({ messages_and_choices: work, reward }));
    return await openPageAt(query, [fileOf("g.jsonl", JSON.stringify({ trajectories }))]);
  };

  it("shows the last words of an answer that was cut off, first words in the outline, and lines of arguments", async () => {
    const { page } = await openWork({ group: 1, trajectory: 1 });
    const end = page.locator(".talk .entry").last();
    expect((await end.locator("pre").innerText()).split("\n").map((line) => line.replace("… ", ""))).toEqual(
      thoughts.split("\n").slice(-12),
    );
    await end.getByText("cut off here").waitFor();
    expect(await page.locator(".outline button").allInnerTexts()).toEqual(
      expect.arrayContaining([
        "2 assistant error: calls run: try 0",
        expect.stringMatching(/^10 assistant thought 0\s/),
      ]),
    );
    const lines = page.locator(".talk .call > pre");
    expect((await lines.allInnerTexts()).slice(0, 4)).toEqual([`code:\n${code}`, "n: 12", "to: x", "ls -l"]);
    await page.getByRole("button", { name: "raw JSON" }).click();
    expect(await page.locator(".raw").innerText()).toContain(JSON.stringify(JSON.stringify({ command: "ls -l" })));
  });

  it("opens and closes all folds by e, also after a reload, and shows equal trajectories once", async () => {
    const { page } = await openWork({ group: 1 });
    await expect.poll(async () => await page.locator(".common[open] .entry").count()).toBe(6);
    expect(await page.locator(".column .entry").count()).toBe(0);
    const closed = page.locator(".entry details:not([open]), .more[aria-expanded=false]");
    await expect.poll(async () => await closed.count()).toBeGreaterThan(3);
    await pressKeys(page, "e");
    await expect.poll(async () => await closed.count()).toBe(0);
    await page.reload();
    await page.locator(".common .entry").last().waitFor();
    expect(await closed.count()).toBe(0);
    await pressKeys(page, "e");
    await expect.poll(async () => await closed.count()).toBeGreaterThan(3);
  });

  it("opens a message by its number, copies it, jumps between errors by [ and ], and follows in the outline", async () => {
    const { page } = await openWork({ group: 1 });
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const focused = async () => await page.evaluate("document.activeElement.getAttribute('aria-label')");
    await page.getByRole("link", { name: "to message 8" }).click();
    await expect.poll(focused).toBe("message 8, assistant");
    const entry = page.locator(".talk .entry:focus");
    expect(await entry.locator(".more[aria-expanded=true]").count()).toBe(1);
    const current = async () => await page.locator(".outline [aria-current]").innerText();
    await expect.poll(current).toMatch(/^8 /);
    await entry.getByRole("button", { name: "copy" }).click();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(
      `run\n${JSON.stringify({ command: "ls -l" })}\n${"file\n".repeat(60)}`,
    );
    await pressKeys(page, "[");
    await expect.poll(focused).toBe("message 6, assistant");
    await pressKeys(page, "[");
    await expect.poll(focused).toBe("message 2, assistant");
    await pressKeys(page, "[", "]", "]");
    await expect.poll(focused).toBe("message 6, assistant");
    await page.evaluate("scrollTo(0, 0)");
    await expect.poll(current).toMatch(/^1 /);
  });

  it("has targets of 24 pixels", async () => {
    const { page } = await openWork({ group: 1, trajectory: 1 });
    await page.locator(".talk .entry").first().waitFor();
    const small = `[...document.querySelectorAll("main :is(a, button, summary)")].filter((one) => {
      const { width, height } = one.getBoundingClientRect();
      return width > 0 && (width < 24 || height < 24);
    }).map((one) => one.outerHTML)`;
    expect(await page.evaluate(small)).toEqual([]);
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

  it("keeps the names and rewards of the trajectories of a group visible", async () => {
    const lines = groupLine([0.5, 0, 1], { answer: "many\n".repeat(400) });
    const { page } = await openPageAt({ group: 1 }, [fileOf("g.jsonl", lines)]);
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
      for (const view of [{}, { group: 1 }, { group: 1, trajectory: 1 }]) {
        await page.evaluate(`location.hash = "${addressOf(view)}"`);
        const found = "group" in view ? ".entry" : ".rows td.words a";
        await page.locator(found).first().waitFor({ state: "attached" });
        const loading = "document.querySelectorAll('img, iframe, main style, main svg svg').length";
        expect(await page.evaluate(loading)).toBe(0);
      }
      expect(await page.evaluate("document.querySelectorAll('script:not([type])').length")).toBe(1);
    }
  });
});
