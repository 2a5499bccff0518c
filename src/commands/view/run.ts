/** The run of `rollcall view`: serves a page of what it reads, or writes it to a file. */
import { contradiction } from "../../cli/index.ts";
import type { Context } from "../../context.ts";
import { counted } from "../../counted.ts";
import { aborted } from "../../host.ts";
import { modeOf } from "../../input/index.ts";
import { type OpenedBrowser, openBrowser, printDocument } from "../../output/index.ts";
import { checkResult } from "../../send/index.ts";
import { maxWritten, openViewer, pageOf, requirePageFile, type Viewer, writePageFile } from "../../view/index.ts";
import { percentText, withReading } from "../inputs/read.ts";
import type { ViewDocument } from "../schema/trajectories.ts";
import type { TypedView } from "./command.ts";
import { openViewed } from "./read.ts";

/** Serves until a signal, or writes a file. @throws Failure `input-invalid`, `address-unusable`; as reading and writing */
export const view = async (context: Context, typed: TypedView): Promise<void> => {
  const { html, port } = typed;
  if (html === undefined) return await servePage(context, typed);
  if (port !== 0) throw contradiction("--html", "--port", "a page in a file is served by nobody");
  requirePageFile(html);
  const progress = context.screen.progress("reading");
  await writePage(context, typed, { file: html, show: progress.update, stop: progress.stop }).finally(progress.stop);
};

/** Reads, and writes the page. An existing page is worth more than one without anything valid. */
const writePage = async (
  context: Context,
  typed: TypedView,
  { file, show, stop }: { file: string; show: (label: string) => void; stop: () => void },
): Promise<void> => {
  const { host, screen } = context;
  const onRead = (bytes: number, of: number) => show(percentText("reading", { bytes, of }));
  const shown = await (await openViewed(context, typed, { onRead, onOpened: () => undefined })).read();
  const { reading, logged } = shown;
  await withReading(context, reading, async () => {
    const { groups, trajectories, failure } = checkResult(reading);
    if (failure !== undefined && groups.read === groups.rejected) throw failure;
    show("writing the page");
    const made = await pageOf(shown, { at: host.now(), safe: screen.safe.json, signal: host.signal });
    // The store of the local service is its user's alone.
    const mode = logged === undefined ? modeOf(reading.sources) : 0o600;
    const bytes = writePageFile(file, made.pieces, mode);
    stop();
    if (screen.isForProgram) {
      await printDocument(screen, {
        ...{ status: "written", file, bytes },
        groups: { ...made.groups, rejected: groups.rejected },
        trajectories: { ...made.trajectories, rejected: trajectories.rejected },
        not_chosen: reading.leftOut,
      } satisfies ViewDocument);
    }
    const { written, read } = made.groups;
    const isAll = written === read;
    const has = `${isAll ? "" : `${written} of the `}${counted(read, "group")}`;
    const wrong = groups.rejected === 0 ? "" : `, ${groups.rejected} of ${isAll ? "which" : "those read"} not valid,`;
    screen.notice(`${file} has ${has}${wrong} as a page of ${(bytes / 1e6).toFixed(1)} MB: open it in a browser`);
    const limits = `at most ${maxWritten.groups} groups, and ${maxWritten.bytes / 1e6} MB of them`;
    if (!isAll)
      screen.notice(`a page in a file holds ${limits}: the others are left out; --where, --best and --sample choose`);
    if (failure !== undefined) throw failure;
  });
};

/** How long an input has to turn out as none before the page is opened. */
const firstLookMs = 200;

/** Serves a page that is filled in the background. */
const servePage = async (context: Context, typed: TypedView): Promise<void> => {
  const { host, screen, flags } = context;
  const viewer = await openViewer({ host, port: typed.port, trace: flags.debug ? screen.trace : undefined });
  const { url } = viewer;
  const opened = new AbortController();
  // It ends only if it fails: what was read is looked at until a signal.
  const failed = show(context, typed, { viewer, onOpened: () => opened.abort() });
  const ended = aborted(host.signal);
  let browser: OpenedBrowser | undefined;
  try {
    await Promise.race([failed, ended, aborted(opened.signal), host.sleep(firstLookMs)]);
    if (screen.isForProgram) await printDocument(screen, { status: "serving", url } satisfies ViewDocument);
    else await screen.text(`${url}\n`);
    screen.notice("the page is there until Ctrl-C; its address holds a key, so that nobody else sees what was read");
    if (!typed.noOpen) browser = openPage(context, viewer);
    await Promise.race([failed, ended]);
  } catch (thrown) {
    if (!host.signal.aborted) throw thrown;
  } finally {
    // What a signal ends is no failure of its own.
    failed.catch(() => undefined);
    browser?.close();
    await viewer.close();
  }
};

/** Shows the input, and what it has become whenever the page is loaded again. */
const show = async (
  context: Context,
  typed: TypedView,
  { viewer, onOpened }: { viewer: Viewer; onOpened: () => void },
): Promise<never> => {
  const viewed = await openViewed(context, typed, { onRead: viewer.reading, onOpened });
  for (;;) {
    // Taken before reading, so that a change while it is read counts.
    const hasChanged = await viewed.stamp();
    await viewer.show(await viewed.read());
    await viewer.reloaded(hasChanged);
  }
};

/** Opens a page, and prints if nobody sees it. */
const openPage = ({ screen, host }: Context, { url, asked }: Viewer): OpenedBrowser | undefined => {
  const browser = openBrowser(host, url);
  if (browser === undefined) screen.notice("there is no display to open it on: open the address in a browser");
  let isThere = false;
  void asked.then(() => {
    isThere = true;
    browser?.close();
  });
  void browser?.failed.then(() => {
    if (isThere || host.signal.aborted) return;
    screen.notice("no browser could be started: open the address in one; it is there all the same");
  });
  return browser;
};
