/** A page of `rollcall view` in a real browser. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { openTab, type Tab, type TabOptions } from "../support/browser.ts";
import { runRollcall } from "../support/run.ts";
import { startPageServer, type ViewProcess } from "./viewing.ts";

export interface OpenPage extends Tab {
  readonly viewing: ViewProcess;
}

/** Opens a served page. `through` is another URL that leads to the page. `first` is an element of the open page. */
export const openServedPage = async (
  served: ViewProcess,
  size: TabOptions = {},
  through = served.address,
  first = ".rows td.words a",
): Promise<OpenPage> => {
  const isOwn = (asked: string) => [`${served.url}/`, through].some((start) => asked.startsWith(start));
  const { page, troubles } = await openTab(through, isOwn, size).catch((thrown: unknown) => {
    throw new Error(`${thrown}\n${served.said()}`);
  });
  await page.locator(first).first().waitFor();
  return { page, viewing: served, troubles };
};

/** Starts `rollcall view` of the built program, because only its page has a script. */
export const startBuiltView = async (args: readonly string[]): Promise<ViewProcess> =>
  await startPageServer(["view", "--no-open", ...args], { cwd: "." });

/** Opens the page of `rollcall view` with these arguments. */
export const openPage = async (args: readonly string[], size?: TabOptions): Promise<OpenPage> =>
  await openServedPage(await startBuiltView(args), size);

/** Opens the page of a query. */
export const openPageAt = async (query: object, ...options: Parameters<typeof openPage>): Promise<OpenPage> => {
  const opened = await openPage(...options);
  await opened.page.goto(`${opened.viewing.url}/${addressOf(query)}`);
  return opened;
};

/** The part of the URL of a query from `#`. */
export const addressOf = (query: object = {}): string => {
  const json = JSON.stringify(query);
  return `#/${json === "{}" ? "" : encodeURIComponent(json)}`;
};

export const views = [{}, { group: 2 }, { group: 2, trajectory: 2 }].map(addressOf);

export const hash = async (page: Page): Promise<string> => await page.evaluate("location.hash");

/** Presses keys. Waits for the effect of each key before the next key. */
export const pressKeys = async (page: Page, ...keys: readonly string[]): Promise<void> => {
  for (const key of keys) await page.keyboard.press(key);
};

/** A path of a missing file in a new folder. */
export const newPageFile = (name = "page.html"): string => join(mkdtempSync(join(tmpdir(), "view-")), name);

export const writtenPage = async (
  args: readonly string[],
): Promise<{ readonly file: string; readonly said: string }> => {
  const file = newPageFile();
  const ran = await runRollcall(["view", ...args, "--html", file], { cwd: "." });
  expect(ran).toMatchObject({ code: 0, stdout: "" });
  return { file, said: ran.stderr };
};

export const openedFile = async (file: string, options: TabOptions = {}): Promise<Tab> => {
  const own = pathToFileURL(file).href;
  const { page, troubles } = await openTab(own, (asked) => asked.split("#")[0] === own, options);
  await page.locator(".rows td.words a").first().waitFor();
  return { page, troubles };
};
