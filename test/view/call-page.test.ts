import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { chromium, type TabOptions } from "../support/browser.ts";
import { newHome, runRollcall } from "../support/run.ts";
import { hash, shownPage, typed } from "./shown.ts";
import { fileOf, serving } from "./viewing.ts";

const airline = "test/samples/airline.groups.jsonl";

/** The page of a local service to which a file was logged. */
const localPage = async ({ size, file = airline }: { readonly size?: TabOptions; readonly file?: string } = {}) => {
  const env = newHome();
  expect((await runRollcall(["log", "gpt-4o", file, "--split", "train", "--local"], { env })).code).toBe(0);
  return await shownPage(await serving(["view", "--local", "--no-open"], { env }), size);
};

describe.skipIf(chromium === undefined)("the page of rollcall view for calls", { tags: "browser" }, () => {
  it("lists, sorts, filters and searches the calls of the local service", async () => {
    const { page, troubles } = await localPage();
    const count = page.locator(".count");
    await expect.poll(async () => await count.innerText()).toBe("80 of 80 calls");
    expect(await page.getByRole("heading", { level: 1 }).innerText()).toBe("calls of local/local, the local service");
    expect(await page.locator("tbody tr[data-at]").first().innerText()).toMatch(/rollcall\.log\s+gpt-4o\s+ok/);
    await page.getByRole("link", { name: "size" }).click();
    await expect
      .poll(async () => await page.getByRole("columnheader", { name: "size" }).getAttribute("aria-sort"))
      .toBe("descending");
    await expect.poll(async () => await hash(page)).toBe("#/calls?sort=size&descending=true");
    await page.getByRole("link", { name: "failed" }).click();
    await expect.poll(async () => await count.innerText()).toBe("0 of 80 calls");
    await page.getByRole("link", { name: "failed" }).click();
    await typed(page, "/");
    await page.keyboard.type("change my return flight");
    await expect.poll(async () => await count.innerText()).toBe("3 of 80 calls");
    await expect
      .poll(async () => await hash(page))
      .toBe("#/calls?sort=size&descending=true&text=change+my+return+flight");
    expect(troubles).toEqual([]);
  });

  it("opens a call and returns by keys alone, and shows its facts, its tool results and its JSON", async () => {
    const { page, viewing: served, troubles } = await localPage();
    await typed(page, "j", "j", "Enter");
    await page.getByText("call 2 of 80").waitFor();
    expect(await page.getByRole("heading", { level: 1 }).innerText()).toBe("gpt-4o (train) · ok");
    expect(await page.locator("dl.lines").innerText()).toMatch(/reward\n0[\s\S]*operation\nvendor:\/\/\/local\/local/);
    expect(await page.locator(".call").first().innerText()).toMatch(/^calls \w+[\s\S]*result/);
    await typed(page, "n");
    await page.getByText("call 3 of 80").waitFor();
    await typed(page, "p");
    await page.getByText("call 2 of 80").waitFor();
    const id = (await hash(page)).replace("#/call/", "");
    await typed(page, "r");
    const { json } = JSON.parse((await served.ask(`/api/calls/${id}`)).body);
    expect(await page.locator(".raw").innerText()).toBe(json);
    expect(await page.getByText(`rollcall call read ${id} --local`).count()).toBe(1);
    await typed(page, "j", "Escape");
    await page.locator(".rows").waitFor();
    expect(troubles).toEqual([]);
  });

  it("shows of a message all that `call read` shows, and embedded pictures", async () => {
    const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const messages = [
      {
        role: "user",
        name: "ann",
        content: [
          { type: "text", text: "look" },
          { type: "image", source: { type: "base64", media_type: "image/png", data: pixel } },
          { type: "image_url", image_url: { url: `data:image/png;base64,${pixel}` } },
          { type: "image_url", image_url: { url: `DATA:image/jpg;charset=utf-8;base64,${pixel}` } },
        ],
      },
      { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "zoom", input: { by: 2 } }], mood: "calm" },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "zoomed" }] },
      { role: "assistant", content: null, function_call: { name: "crop", arguments: '{"to":3}' } },
    ];
    const message = { role: "assistant", content: null, refusal: "I will not" };
    const choice = { index: 0, message, finish_reason: "stop" };
    const line = JSON.stringify({ messages_and_choices: [...messages, choice], reward: 1 });
    const { page, troubles } = await localPage({ file: fileOf("one.jsonl", line) });
    await page.locator(".rows td.words a").first().click();
    await page.locator(".entry").first().waitFor();
    const texts = await page.locator(".entry").allInnerTexts();
    expect(texts).toEqual([
      expect.stringMatching(/^user ann\s+1\s+look/),
      expect.stringMatching(/calls zoom\s+\{\s+"by": 2\s+\}[\s\S]*also/),
      expect.stringMatching(/result\s+zoomed/),
      expect.stringMatching(/calls crop\s+\{\s+"to": 3\s+\}/),
      expect.stringMatching(/^assistant sampled · stop\s+5\s+refusal: I will not/),
    ]);
    expect(await page.locator(".entry img").count()).toBe(3);
    await page.evaluate("location.hash = '#/group/1'");
    await page.getByText("calls are shown here, no groups").waitFor();
    expect(troubles).toEqual([]);
  });

  it("shows hostile text as text", async () => {
    const all = "</script><img src=x onerror=alert(1)>\u202e<iframe src=https://elsewhere.example>";
    const message = {
      role: "user",
      content: [{ type: "image_url", image_url: { url: "https://elsewhere.example/x" } }, all],
    };
    const line = JSON.stringify({ messages_and_choices: [message], reward: 1, metrics: { [all]: 1 }, [all]: all });
    const { page, viewing: served, troubles } = await localPage({ file: fileOf("one.jsonl", line) });
    await page.locator(".rows td.words a").first().click();
    await page.locator(".entry").first().waitFor();
    expect(await page.evaluate("document.querySelectorAll('img, iframe').length")).toBe(0);
    expect(troubles).toEqual([]);
    expect(served.said()).toContain("until Ctrl-C");
  });

  it("fits 360 pixels, except for areas that scroll", async () => {
    const { page, troubles } = await localPage({ size: { width: 360, height: 740 } });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(360);
    await page.locator(".rows td.words a").first().click();
    await page.locator(".entry").first().waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(360);
    expect(troubles).toEqual([]);
  });

  it("opens through the file that a browser is started with", async () => {
    const folder = mkdtempSync(join(tmpdir(), "opener-"));
    writeFileSync(join(folder, "xdg-open"), '#!/bin/sh\ncp "$1" "$OPENED/page.html"\n', { mode: 0o755 });
    const env = { ...newHome(), PATH: `${folder}:${process.env.PATH}`, DISPLAY: ":0", OPENED: folder };
    await runRollcall(["log", "gpt-4o", airline, "--split", "train", "--local"], { env });
    const served = await serving(["view", "--local"], { env });
    await expect.poll(() => readFileSync(join(folder, "page.html"), "utf8")).toContain("</html>");
    const { page, troubles } = await shownPage(served, {}, pathToFileURL(join(folder, "page.html")).href);
    expect(page.url()).toBe(`${served.url}/#/`);
    expect(troubles).toEqual([]);
  });
});
