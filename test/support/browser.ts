/** Opens pages in a headless Chromium and records their messages and requests. */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, type Page, chromium as playwright } from "playwright-core";
import { expect, onTestFinished } from "vitest";

const programs = ["chromium", "chromium-browser", "google-chrome"];
const folders = (process.env.PATH ?? "").split(delimiter);

/** Path of an installed browser; undefined if none is installed. */
export const chromium = programs.flatMap((name) => folders.map((folder) => join(folder, name))).find(existsSync);

/** Flags that stop the browser from loading anything but the page. */
const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export interface Tab {
  readonly page: Page;
  /** Blocked requests, exceptions, requests to other origins and console messages of the page. */
  readonly troubles: readonly string[];
}

/** Options of a page. Sizes are in pixels. */
export interface TabOptions {
  readonly width?: number;
  readonly height?: number;
  readonly dark?: boolean;
  /** True if the page may have troubles. By default, troubles fail the test at its end. */
  readonly hasTroubles?: boolean;
}

/** Opens a URL in a separate context until the test is finished. The page may request URLs of `isOwn`. */
export const openTab = async (
  url: string,
  isOwn: (asked: string) => boolean,
  { width = 1280, height = 860, dark = false, hasTroubles = false }: TabOptions = {},
): Promise<Tab> => {
  if (chromium === undefined) throw new Error("Chromium is not installed");
  browser ??= playwright.launch({ executablePath: chromium, args: flags });
  const opened = await browser;
  const context = await opened.newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light" });
  onTestFinished(async () => await context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(testLimitMs);
  const troubles: string[] = [];
  if (!hasTroubles) onTestFinished(() => expect(troubles).toEqual([]));
  page.on("console", (message) => troubles.push(message.text()));
  page.on("pageerror", ({ message }) => troubles.push(message));
  page.on("request", (request) => isOwn(request.url()) || troubles.push(`requested ${request.url()}`));
  page.on("dialog", (dialog) => {
    troubles.push(dialog.message());
    void dialog.dismiss();
  });
  await page.goto(url);
  return { page, troubles };
};

/** The time limit of a step, which is that of a test. */
const testLimitMs = 120_000;

/** The browser of all tests of this process. */
let browser: Promise<Browser> | undefined;
