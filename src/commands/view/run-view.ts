/** Shows rollouts in a browser, or writes the page to a file. */
import { toProblemDocument } from "../../failure.ts";
import { openBrowser } from "../../output/browser.ts";
import { checkKeys, printDocument } from "../../output/list.ts";
import { composeCheckResult } from "../../rollouts/dataset/check-result.ts";
import { createChangeDetector } from "../../rollouts/input/open-inputs.ts";
import { combineModes } from "../../rollouts/input/source.ts";
import { readEffectiveSettings } from "../../session/connect.ts";
import type { Context } from "../../session/context.ts";
import { listInputFiles, requireSeparateFiles } from "../../session/output-files.ts";
import { listSkippedFiles, printWarnings } from "../../session/print-problems.ts";
import { attachDataset, openRollouts, printInputNotes } from "../../session/read-rollouts.ts";
import { conflictingOptions } from "../../system/failures.ts";
import { requireOutputFile, saveOutput } from "../../system/files.ts";
import { waitForAbort } from "../../system/host.ts";
import { pluralize } from "../../text/sentences.ts";
import type { ReadInput, ViewInput } from "../../view/group-content.ts";
import { exportLimits, exportPage } from "../../view/html-export.ts";
import type { Viewer } from "../../view/viewer.ts";
import type { ViewOptions } from "./command.ts";

export const view = async (context: Context, typed: ViewOptions) => {
  const { html, port } = typed;
  checkKeys(context.screen, html === undefined ? ["status", "url"] : documentKeys);
  if (html === undefined) return await servePage(context, typed);
  if (port !== 0) throw conflictingOptions("--html", "--port", "a page in a file needs no server");
  requireSeparateFiles([["--html ", html]], listInputFiles(typed));
  requireOutputFile(html);
  await writePage(context, typed, html).finally(context.screen.stopProgress);
};

const documentKeys = ["status", "file", "bytes", "groups", "trajectories", "warnings"];

const writePage = async (context: Context, typed: ViewOptions, file: string) => {
  const { host, screen } = context;
  const readInput = await createReader(context, typed, { label: "reading" });
  const input = await readInput();
  const { dataset } = input;
  attachDataset(context, dataset);
  const { groups, trajectories, failure } = composeCheckResult(dataset);
  if (failure && groups.read === groups.rejected) throw failure;
  const { stop } = screen.startProgress("writing the page");
  const page = await exportPage(input, host, screen.cleaner.json);
  const formatMark = (mark: string) => `<!-- ${mark} -->\n`;
  const bytes = await saveOutput({ file, pieces: page.pieces, mode: combineModes(dataset.sources), formatMark }, host);
  stop();
  if (screen.isJson) {
    await printDocument(screen, {
      status: "written",
      file,
      bytes,
      groups: { read: groups.read, written: page.groups, rejected: groups.rejected },
      trajectories: { read: trajectories.read, written: page.trajectories, rejected: trajectories.rejected },
      warnings: listSkippedFiles(dataset).map(toProblemDocument),
    });
  }
  const size = `${(bytes / 1e6).toFixed(1)} MB`;
  screen.notice(`wrote ${page.groups} of ${pluralize(groups.read, "group")} to ${file} (${size})`);
  const limits = `${exportLimits.groups} groups and ${exportLimits.bytes / 1e6} MB`;
  if (page.groups < groups.read) screen.notice(`a page in a file has at most ${limits}`);
  if (failure) throw failure;
};

const measures = { hasSteps: true };

/** `view` prints the URL after this time, so that an unreadable input can fail first. */
const openDelayMs = 200;

const servePage = async (context: Context, typed: ViewOptions) => {
  const { host, screen, flags } = context;
  // A page in a file needs no server.
  const { openViewer } = await import("../../view/viewer.ts");
  const viewer = await openViewer({ host, port: typed.port, trace: flags.debug ? screen.trace : undefined });
  const { url } = viewer;
  const inputReadable = new AbortController();
  const onOpened = () => inputReadable.abort();
  const onProgress: ProgressNeeds["onProgress"] = (progress) =>
    viewer.showProgress({ ...progress, groupBy: typed.groupBy });
  const shown = createReader(context, typed, { onOpened, onProgress }).then(viewer.showInput);
  const ended = waitForAbort(host.signal);
  let browser: ReturnType<typeof openBrowser>;
  try {
    await Promise.race([shown, ended, waitForAbort(inputReadable.signal), host.sleep(openDelayMs)]);
    if (screen.isJson) await printDocument(screen, { status: "serving", url });
    else await screen.printText(`${url}\n`);
    screen.notice("serving until Ctrl-C. Keep the URL private, because it gives access to the page");
    if (!typed.noOpen) browser = openInBrowser(context, viewer);
    await Promise.race([shown.then(() => ended), ended]);
  } catch (thrown) {
    if (!host.signal.aborted) throw thrown;
  } finally {
    // Avoids an unhandled rejection after a signal.
    shown.catch(() => undefined);
    browser?.close();
    await viewer.close();
  }
};

const openInBrowser = ({ screen, host }: Context, { url, firstRequest }: Viewer) => {
  const browser = openBrowser(host, url);
  if (!browser) screen.notice("cannot find a display. Open the URL in a browser");
  else {
    void firstRequest.then(browser.close);
    void Promise.race([firstRequest.then(() => false), browser.failed.then(() => true)]).then((hasFailed) => {
      if (hasFailed && !host.signal.aborted) screen.notice("cannot start a browser. Open the URL yourself");
    });
  }
  return browser;
};

type ProgressNeeds = Pick<Parameters<typeof openRollouts>[2], "label" | "onOpened" | "onProgress">;

const createReader = async (context: Context, typed: ViewOptions, progress: ProgressNeeds): Promise<ReadInput> => {
  const { file: files } = typed;
  const settings = await readEffectiveSettings(context);
  return async () => {
    // The detector starts before reading, so that it finds changes during reading.
    const hasChanged = createChangeDetector(files, context.host);
    const needs = { settings, split: settings.get("split"), measures, continuesAfterErrors: true };
    const dataset = await openRollouts(context, typed, { ...needs, ...progress });
    const notes = printInputNotes(context, dataset, typed);
    await printWarnings(context, dataset, listSkippedFiles(dataset));
    if (typed.html === undefined) printUnreadableFiles(context, dataset);
    return { dataset, notes, groupBy: typed.groupBy, hasChanged };
  };
};

/** The page also has these problems, but a reader may not look for them. */
const printUnreadableFiles = ({ screen }: Context, { scan }: ViewInput["dataset"]) => {
  const ofFiles = scan.problems.sorted().filter(({ severity, line }) => severity === "error" && line === undefined);
  if (!screen.isJson) for (const problem of ofFiles) screen.warn(problem);
};
