/** Serves a page at once, has it filled in the background, and ends with a signal. */

import type { Context } from "../../context.ts";
import { aborted } from "../../host.ts";
import { type OpenedBrowser, openBrowser, printDocument } from "../../output/index.ts";
import { openViewer, type Viewer } from "../../view/index.ts";
import type { TypedView } from "./command.ts";

/** How long an input has to turn out as none before the page is opened. */
const firstLookMs = 200;

/** Fills a page; `onOpened` is told once something of the input was there. */
type Show = (viewer: Viewer, onOpened: () => void) => Promise<void>;

/** Serves until a signal. @throws Failure `address-unusable`; what filling the page ends with */
export const servePage = async (
  context: Context,
  typed: Pick<TypedView, "port" | "noOpen">,
  show: Show,
): Promise<void> => {
  const { host, screen, flags } = context;
  const viewer = await openViewer({ host, port: typed.port, trace: flags.debug ? screen.trace : undefined });
  const opened = new AbortController();
  // It ends only where it fails: what was read is looked at until a signal.
  const failed = show(viewer, () => opened.abort()).then(async () => await new Promise<never>(() => undefined));
  const ended = aborted(host.signal);
  let browser: OpenedBrowser | undefined;
  try {
    await Promise.race([failed, ended, aborted(opened.signal), host.sleep(firstLookMs)]);
    await announce(context, viewer.url);
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

const announce = async ({ screen }: Context, url: string): Promise<void> => {
  if (screen.isForProgram) await printDocument(screen, { status: "serving", url });
  else await screen.text(`${url}\n`);
  screen.notice("the page is there until Ctrl-C; its address holds a key, so that nobody else sees what was read");
};

/** Opens a page, and says where nobody sees it. */
const openPage = ({ screen, host }: Context, { url, asked }: Viewer): OpenedBrowser | undefined => {
  const browser = openBrowser(host, url);
  if (browser === undefined) {
    screen.notice("there is no display to open it on: open the address in a browser");
    return undefined;
  }
  let isThere = false;
  void asked.then(() => {
    isThere = true;
    browser.close();
  });
  void browser.failed.then(() => {
    if (isThere || host.signal.aborted) return;
    screen.notice("no browser could be started: open the address in one; it is there all the same");
  });
  return browser;
};
