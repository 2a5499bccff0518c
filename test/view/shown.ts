/** A page of `rollcall view` in a real browser. */
import { type Page, chromium as playwright } from "playwright-core";
import { onTestFinished } from "vitest";
import { chromium } from "../browser.ts";
import type { Viewing } from "./viewing.ts";

/** A page in a browser of its own, and what it was kept from, threw, or asked of others. */
export interface Shown {
  readonly page: Page;
  readonly viewing: Viewing;
  readonly troubles: readonly string[];
}

/** How large the page is, in pixels. */
export interface PageSize {
  readonly width?: number;
  readonly height?: number;
}

/** Opens what is served; `through` is another address that leads there, `first` what is waited for. */
export const shownPage = async (
  served: Viewing,
  { width = 1280, height = 860 }: PageSize = {},
  through = served.address,
  first = ".rows td.words a",
): Promise<Shown> => {
  if (chromium === undefined) throw new Error("there is no chromium");
  const browser = await playwright.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-gpu"] });
  onTestFinished(async () => await browser.close());
  const page = await (await browser.newContext({ viewport: { width, height } })).newPage();
  const troubles: string[] = [];
  page.on("console", (message) => troubles.push(message.text()));
  page.on("pageerror", ({ message }) => troubles.push(message));
  page.on(
    "request",
    (request) =>
      [`${served.url}/`, through].some((start) => request.url().startsWith(start)) || troubles.push(request.url()),
  );
  page.on("dialog", (dialog) => {
    troubles.push(dialog.message());
    void dialog.dismiss();
  });
  await page.goto(through).catch((thrown: unknown) => {
    throw new Error(`${thrown}\n${served.said()}`);
  });
  await page.locator(first).first().waitFor();
  return { page, viewing: served, troubles };
};

/** What stands behind `#` in the address. */
export const hash = async (page: Page): Promise<string> => await page.evaluate("location.hash");

/** Presses keys one after the other, each once what the one before it brought is there. */
export const typed = async (page: Page, ...keys: readonly string[]): Promise<void> => {
  for (const key of keys) await page.keyboard.press(key);
};
