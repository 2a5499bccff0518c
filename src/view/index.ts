/** The page in a browser: its server on this machine, and the page as a file. */
import { randomBytes } from "node:crypto";
import type { Host } from "../host.ts";
import { listen } from "../service/index.ts";
import type { Progress } from "./answers.ts";
import { createApp } from "./app.ts";
import type { ViewInput } from "./detail.ts";
import { buildPage, type ExportedPage, type ExportOptions } from "./html-export.ts";
import { maxSearchLength } from "./query.ts";
import { openSession, type ViewSession } from "./session.ts";

export type { Charts, Findings, GroupDetail, GroupRows, PageState } from "./answers.ts";
export type { LoggedGroup, ViewInput } from "./detail.ts";
export {
  type ExportedPage,
  exportLimits,
  requirePageFile,
  writePageFile,
} from "./html-export.ts";

interface ViewerOptions {
  readonly host: Host;
  /** The port of 127.0.0.1; 0 is any free one. */
  readonly port: number;
  /** Called with a line about each exchange. */
  readonly trace: ((line: string) => void) | undefined;
}

/** A page that is served. Must be closed. */
export type Viewer = Awaited<ReturnType<typeof openViewer>>;

/** An address has the text and the expression that are searched for: nine bytes a character, in any script. */
const maxHeaderBytes = 2 * 9 * maxSearchLength + 2 ** 16;

const openingProgress: Progress = { phase: "opening", done: 0, of: 0 };

/** Serves the page, which shows progress until something is shown. @throws Failure `cannot-listen` */
export const openViewer = async ({ host, port, trace }: ViewerOptions) => {
  const token = randomBytes(24).toString("base64url");
  const ending = new AbortController();
  /** Undefined while a session is shown. */
  let progress: Progress | undefined = openingProgress;
  let session: ViewSession | undefined;
  let measured: Promise<void> = Promise.resolve();
  let onAsked = (): void => undefined;
  const firstRequest = new Promise<void>((resolve) => {
    onAsked = resolve;
  });
  let onLoaded = async (): Promise<void> => undefined;
  const app = createApp({
    token,
    answer: (name, query) => (name === "state" && progress !== undefined ? { progress } : session?.[name](query)),
    onRequest: onAsked,
    onPageLoad: async () => await onLoaded(),
  });
  const { elapsed } = host;
  const server = await listen({ app, server: "the page", address: "127.0.0.1", port, maxHeaderBytes, trace, elapsed });
  return {
    /** The page's address, with the token that opens it after `#`: no browser sends that, and no trace has it. */
    url: `${server.url}/#token=${token}`,
    /** Resolves once somebody with the token asked for something: the page is open. */
    asked: firstRequest,
    /** Has the page show the progress of reading, in bytes. */
    showProgress: (done: number, of: number): void => {
      progress = { phase: "reading", done, of };
    },
    /** Shows a reading, and closes the one before. Resolves once all was measured. @throws Failure `input-changed` */
    async show(shown: ViewInput): Promise<void> {
      // The server may have ended while the input was read.
      if (ending.signal.aborted) return await shown.reading.close();
      const before = session;
      session = openSession(shown);
      measured = session.measure(ending.signal);
      progress = undefined;
      before?.end();
      await before?.reading.close();
      await measured.catch((thrown: unknown) => {
        if (!ending.signal.aborted) throw thrown;
      });
    },
    /** Resolves once the page is loaded again and the input has changed. From then on the page shows progress. */
    waitForReload: async (hasChanged: () => boolean | Promise<boolean>): Promise<void> =>
      await new Promise((resolve) => {
        onLoaded = async () => {
          if (!(await hasChanged())) return;
          onLoaded = async () => undefined;
          progress = openingProgress;
          resolve();
        };
      }),
    /** Answers what is in flight, then closes what is shown. */
    async close(): Promise<void> {
      ending.abort();
      session?.end();
      await server.close();
      await measured.catch(() => undefined);
      await session?.reading.close();
    },
  };
};

/** Makes the page of a reading as one file. @throws Failure `input-changed`; the signal's reason */
export const exportPage = async (shown: ViewInput, options: ExportOptions): Promise<ExportedPage> => {
  const session = openSession(shown);
  await session.measure(options.signal);
  return await buildPage(session, options);
};
