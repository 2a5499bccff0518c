/** A headless Chromium that opens pages and says what they do. */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium as playwright } from "playwright-core";
import { onTestFinished } from "vitest";

const programs = ["chromium", "chromium-browser", "google-chrome"];
const folders = (process.env.PATH ?? "").split(delimiter);

/** The browser there is; undefined where there is none. */
export const chromium = programs.flatMap((name) => folders.map((folder) => join(folder, name))).find(existsSync);

/** What keeps the browser from loading anything but the page. */
const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** A page that is open. */
export interface OpenPage {
  /** Runs an expression in the page and gives its value; what it awaits is waited for. */
  evaluate(expression: string): Promise<unknown>;
  /** Presses keys in the page, each by its name. */
  press(...keys: readonly ("Tab" | "Enter" | "Space")[]): Promise<void>;
  /** What the page was kept from, what it threw, what it asked for, and what it wrote to the console. */
  readonly troubles: readonly string[];
}

/** Opens a page in a browser of its own, which ends with the test. */
export const openInBrowser = async (url: string, { dark = false } = {}): Promise<OpenPage> => {
  if (chromium === undefined) throw new Error("there is no chromium");
  const browser = await playwright.launch({ executablePath: chromium, args: flags });
  onTestFinished(async () => await browser.close());
  const page = await browser.newPage({ colorScheme: dark ? "dark" : "light" });
  const troubles: string[] = [];
  page.on("console", (message) => troubles.push(message.text()));
  page.on("pageerror", ({ message }) => troubles.push(message));
  page.on("request", (request) => request.url() === url || troubles.push(`asked for ${request.url()}`));
  page.on("dialog", (dialog) => {
    troubles.push(dialog.message());
    void dialog.dismiss();
  });
  await page.goto(url);
  return {
    troubles,
    evaluate: async (expression) => await page.evaluate(expression),
    async press(...keys) {
      for (const key of keys) await page.keyboard.press(key);
    },
  };
};
