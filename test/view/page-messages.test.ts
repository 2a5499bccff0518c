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
