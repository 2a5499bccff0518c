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
