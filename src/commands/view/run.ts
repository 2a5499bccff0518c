/** What `rollcall view` does: serves a page at once, reads in the background, and ends with a signal. */
import type { Context } from "../../context.ts";
import { Failure } from "../../failure.ts";
import { openBrowser, printDocument } from "../../output/index.ts";
import { openViewer } from "../../view/index.ts";
import type { TypedChoosing } from "../convert/choosing.ts";
import { type TypedForeign, tellConversion } from "../convert/foreign.ts";
import { readerOf } from "./read.ts";

/** The options as commander gives them. */
export interface TypedView extends TypedForeign, TypedChoosing {
  readonly groupBy?: string;
  readonly port: string;
  readonly open: boolean;
  /** The file of a page that holds what it shows. */
  readonly html?: string;
}

/** What was asked for. */
export interface Asked {
  readonly files: readonly string[];
  readonly typed: TypedView;
}

/** How long an input has to turn out as none before the page is opened. */
const firstLookMs = 200;

/** Serves until a signal, or writes a file. @throws Failure `input-invalid`, `address-unusable`; what reading and writing end with */
export const view = async (context: Context, asked: Asked): Promise<void> => {
  const { html } = asked.typed;
  if (html !== undefined) return await (await import("./written.ts")).writeView(context, { ...asked, html });
  await serveView(context, asked);
};

const serveView = async (context: Context, asked: Asked): Promise<void> => {
  const { host, screen, flags } = context;
  const port = portTyped(asked.typed.port);
  const read = await readerOf(context, asked);
  const viewer = await openViewer({ host, port, trace: flags.debug ? screen.trace : undefined });
  const opened = new AbortController();
  const reading = read({ onRead: viewer.reading, onOpened: () => opened.abort() });
  // It ends only where it fails: what was read is looked at until a signal.
  const failed = reading.then(async (whole) => {
    tellConversion(context, whole);
    await viewer.show(whole, { groupBy: asked.typed.groupBy });
    return await new Promise<never>(() => undefined);
  });
  const ended = signalled(host.signal);
  try {
    await Promise.race([failed, ended, signalled(opened.signal), host.sleep(firstLookMs)]);
    await announce(context, viewer.url, asked.typed);
    await Promise.race([failed, ended]);
  } catch (thrown) {
    if (!host.signal.aborted) throw thrown;
  } finally {
    // What a signal ends is no failure of its own.
    failed.catch(() => undefined);
    await viewer.close();
  }
};

/** @throws Failure `option-value-wrong` */
const portTyped = (port: string): number => {
  if (/^\d{1,5}$/.test(port) && Number(port) <= 65_535) return Number(port);
  throw new Failure("option-value-wrong", { option: "--port", value: port, wanted: "a number from 0 to 65535" });
};

/** The document of `view --json`. */
export interface ViewDocument {
  readonly status: "serving";
  /** With the token behind `#`: who has it sees what was read. */
  readonly url: string;
}

const announce = async ({ screen, host }: Context, url: string, { open }: TypedView): Promise<void> => {
  const document: ViewDocument = { status: "serving", url };
  if (screen.format === "json" || screen.format === "jsonl") await printDocument(screen, document);
  else await screen.text(`${url}\n`);
  screen.notice("the page is there until Ctrl-C; its address holds a key, so that nobody else sees what was read");
  if (open && !(await openBrowser(host, url)))
    screen.notice("there is no display to open it on: open the address in a browser");
};

const signalled = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
