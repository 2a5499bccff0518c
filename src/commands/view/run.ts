/** The run of `rollcall view`: serves a page of inputs, or of what was logged to the local service, or writes it to a file. */
import { contradiction, toOptionName } from "../../cli/index.ts";
import { effectiveSettings, localService } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { readSources } from "../../groups/index.ts";
import { waitForAbort } from "../../host.ts";
import { combineModes, createChangeDetector, openSpool } from "../../input/index.ts";
import { elementsOf, memberAt, readRoot, spanOf } from "../../json/table.ts";
import { replaceLineEnds, sliceText } from "../../json/walk.ts";
import { type OpenedBrowser, openBrowser, printDocument } from "../../output/index.ts";
import { checkResult } from "../../send/index.ts";
import { pluralize } from "../../sentences.ts";
import * as pages from "../../view/index.ts";
import { formatPercent, prepareInputs, printConversion, useReading } from "../inputs/read.ts";
import type { ViewDocument } from "../schema/trajectories.ts";
import type { ViewOptions } from "./command.ts";

/** Serves until a signal, or writes a file. @throws Failure `invalid-input`, `cannot-listen`; as reading and writing */
export const view = async (context: Context, typed: ViewOptions): Promise<void> => {
  const { html, port } = typed;
  if (html === undefined) return await servePage(context, typed);
  if (port !== 0) throw contradiction("--html", "--port", "a page in a file is served by nobody");
  pages.requirePageFile(html);
  const progress = context.screen.startProgress("reading");
  await writePage(context, typed, { file: html, show: progress.update, stop: progress.stop }).finally(progress.stop);
};

/** Reads, and writes the page. An existing page is worth more than one without anything valid. */
const writePage = async (
  context: Context,
  typed: ViewOptions,
  { file, show, stop }: { file: string; show: (label: string) => void; stop: () => void },
): Promise<void> => {
  const { host, screen } = context;
  const onRead = (bytes: number, of: number) => show(formatPercent("reading", { bytes, of }));
  const shown = await (await openSource(context, typed, { onRead, onOpened: () => undefined })).read();
  const { dataset: reading, logged } = shown;
  await useReading(context, reading, async () => {
    const { groups, trajectories, failure } = checkResult(reading);
    if (failure !== undefined && groups.read === groups.rejected) throw failure;
    show("writing the page");
    const writtenPage = await pages.exportPage(shown, { at: host.now(), safe: screen.safe.json, signal: host.signal });
    // The store of the local service is its user's alone.
    const mode = logged === undefined ? combineModes(reading.sources) : 0o600;
    const bytes = pages.writePageFile(file, writtenPage.pieces, mode);
    stop();
    if (screen.isForProgram) {
      await printDocument(screen, {
        ...{ status: "written", file, bytes },
        groups: { ...writtenPage.groups, rejected: groups.rejected },
        trajectories: { ...writtenPage.trajectories, rejected: trajectories.rejected },
        not_chosen: reading.leftOut,
      } satisfies ViewDocument);
    }
    const { written, read } = writtenPage.groups;
    const isAll = written === read;
    const contents = `${isAll ? "" : `${written} of the `}${pluralize(read, "group")}`;
    const wrong = groups.rejected === 0 ? "" : `, ${groups.rejected} of ${isAll ? "which" : "those read"} not valid,`;
    screen.notice(`${file} has ${contents}${wrong} as a page of ${(bytes / 1e6).toFixed(1)} MB: open it in a browser`);
    const limits = `at most ${pages.exportLimits.groups} groups, and ${pages.exportLimits.bytes / 1e6} MB of them`;
    if (!isAll)
      screen.notice(`a page in a file holds ${limits}: the others are left out; --where, --best and --sample choose`);
    if (failure !== undefined) throw failure;
  });
};

/** How long an input has to turn out as none before the page is opened. */
const openDelayMs = 200;

/** Serves a page that is filled in the background. */
const servePage = async (context: Context, typed: ViewOptions): Promise<void> => {
  const { host, screen, flags } = context;
  const viewer = await pages.openViewer({ host, port: typed.port, trace: flags.debug ? screen.trace : undefined });
  const { url } = viewer;
  const opened = new AbortController();
  // It ends only if it fails: what was read is looked at until a signal.
  const failed = showInputs(context, typed, { viewer, onOpened: () => opened.abort() });
  const ended = waitForAbort(host.signal);
  let browser: OpenedBrowser | undefined;
  try {
    await Promise.race([failed, ended, waitForAbort(opened.signal), host.sleep(openDelayMs)]);
    if (screen.isForProgram) await printDocument(screen, { status: "serving", url } satisfies ViewDocument);
    else await screen.printText(`${url}\n`);
    screen.notice("the page is there until Ctrl-C; its address holds a key, so that nobody else sees what was read");
    if (!typed.noOpen) browser = openInBrowser(context, viewer);
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
const showInputs = async (
  context: Context,
  typed: ViewOptions,
  { viewer, onOpened }: { viewer: pages.Viewer; onOpened: () => void },
): Promise<never> => {
  const viewed = await openSource(context, typed, { onRead: viewer.showProgress, onOpened });
  for (;;) {
    // Taken before reading, so that a change while it is read counts.
    const hasChanged = await viewed.openChangeCheck();
    await viewer.show(await viewed.read());
    await viewer.waitForReload(hasChanged);
  }
};

/** Opens a page, and prints if nobody sees it. */
const openInBrowser = ({ screen, host }: Context, { url, firstRequest }: pages.Viewer): OpenedBrowser | undefined => {
  const browser = openBrowser(host, url);
  if (browser === undefined) screen.notice("there is no display to open it on: open the address in a browser");
  let isPageRequested = false;
  void firstRequest.then(() => {
    isPageRequested = true;
    browser?.close();
  });
  void browser?.failed.then(() => {
    if (isPageRequested || host.signal.aborted) return;
    screen.notice("no browser could be started: open the address in one; it is there all the same");
  });
  return browser;
};

/** Functions that are called with the bytes read so far, and once there is something to read. */
interface ReadListener {
  onRead(bytes: number, of: number): void;
  onOpened(): void;
}

/** Something that can be read, and read again. */
interface ViewSource {
  /** Returns a function that is true if something else would be read now. */
  openChangeCheck(): Promise<() => boolean | Promise<boolean>>;
  read(): Promise<pages.ViewInput>;
}

/** Checks all that was typed, before anything is read. */
const openSource = async (context: Context, typed: ViewOptions, listener: ReadListener): Promise<ViewSource> => {
  const { file: files } = typed;
  const { flags, host } = context;
  if (files.length === 0 && (flags.local || flags.profile === "local"))
    return await openLoggedSource(context, typed, listener);
  const settings = await effectiveSettings(context);
  const read = await prepareInputs(context, {
    ...{ settings, typed, split: settings.get("split"), goesOn: true, onOpened: listener.onOpened },
    onProgress: ({ bytes, of }) => listener.onRead(bytes, of),
    onFetched: ({ bytes, of = 0 }) => listener.onRead(bytes, of),
  });
  return {
    openChangeCheck: async () => createChangeDetector(files, host),
    read: async () => {
      const reading = await read();
      printConversion(context, reading);
      return { dataset: reading, inputOptions: toShownOptions(typed) };
    },
  };
};

/** What was asked for, as a command that logs it asks. The numbers of groups tell which were a sample, or are a shard. */
const toShownOptions = (typed: ViewOptions): pages.ViewInput["inputOptions"] => {
  const { file: files, where, best, groupBy, from, rewardFrom, rewards, lossy, histories } = typed;
  const options = Object.entries({ groupBy, best, from, rewardFrom, rewards, lossy, histories });
  return {
    files: files.length === 0 ? ["-"] : files,
    options: options.flatMap(([name, value]) => {
      if (value === undefined || value === false) return [];
      return value === true ? [toOptionName(name)] : [toOptionName(name), String(value)];
    }),
    where,
  };
};

/** Opens the groups that were logged to the local service. @throws Failure `conflicting-options` */
const openLoggedSource = async (context: Context, typed: ViewOptions, told: ReadListener): Promise<ViewSource> => {
  const { port: _port, noOpen: _noOpen, html: _html, file: _file, ...others } = typed;
  const other = Object.entries(others).find(([, value]) => value !== undefined && value !== false)?.[0];
  if (other !== undefined)
    throw contradiction("--local without files", toOptionName(other), "it is about files of rollouts");
  const { host, screen } = context;
  const settings = await effectiveSettings(context);
  const project = settings.require("project");
  const service = await localService(context, settings);
  const newest = async () => {
    for await (const { callIds } of service.requests(project)) return callIds[0];
    return undefined;
  };
  /** Writes the groups as lines, without the secrets of this run. */
  const spoolGroups = async () => {
    const spool = await openSpool(host);
    const logged: pages.LoggedGroup[] = [];
    try {
      for await (const { model, split, loggedAt, callIds, readBody } of service.requests(project)) {
        const bytes = Buffer.from(await readBody());
        let first = 0;
        for (const group of elementsOf(memberAt(readRoot(bytes), "trajectory_groups"))) {
          const size = elementsOf(memberAt(group, "trajectories")).length;
          const line = replaceLineEnds(Buffer.from(screen.safe.verbatimJson(sliceText(bytes, spanOf(group)))));
          await spool.write(Buffer.concat([line, Buffer.from("\n")]));
          logged.push({ model, split, loggedAt, callIds: callIds.slice(first, first + size) });
          first += size;
        }
      }
    } catch (thrown) {
      await spool.discard();
      throw thrown;
    }
    return { logged, bytes: spool.bytes() };
  };
  return {
    openChangeCheck: async () => {
      const before = await newest();
      return async () => (await newest()) !== before;
    },
    read: async () => {
      const { logged, bytes } = await spoolGroups();
      told.onOpened();
      const name = `${project}, the local service`;
      const read = await readSources(logged.length === 0 ? [] : [{ name, bytes, touched: async () => false }], {
        ...{ split: undefined, splitNeeded: false, groupBy: undefined, signal: host.signal },
        onProgress: ({ bytes: done, of }) => told.onRead(done, of),
      });
      const reading = { ...read, close: async () => await bytes.close() };
      return { dataset: reading, inputOptions: { files: [name], options: [], where: undefined }, logged };
    },
  };
};
