/** The browser page: its server on this machine, and its export to a file. */
import { randomBytes } from "node:crypto";
import type { Host } from "../host.ts";
import { listen } from "../service/index.ts";
import type { Progress } from "./answers.ts";
import { createApp } from "./app.ts";
import type { ReadInput } from "./detail.ts";
import { maxSearchLength } from "./query.ts";
import { openSession, type ViewSession } from "./session.ts";

export type { Charts, Findings, GroupDetail, GroupRows, PageState } from "./answers.ts";
export type { LoggedGroup, ReadInput, ViewInput } from "./detail.ts";
export { exportLimits, exportPage, requirePageFile, writePageFile } from "./html-export.ts";

interface ViewerOptions {
  readonly host: Host;
  readonly port: number;
  readonly trace: ((line: string) => void) | undefined;
}

export type Viewer = Awaited<ReturnType<typeof openViewer>>;

/** A URL contains the text and the expression of a search, at most nine bytes per character. */
const maxHeaderBytes = 2 * 9 * maxSearchLength + 2 ** 16;

const openingProgress: Progress = { phase: "opening", done: 0, of: 0 };

/** Serves the page, which shows progress until the input was read. @throws Failure `cannot-listen` */
export const openViewer = async ({ host, port, trace }: ViewerOptions) => {
  const token = randomBytes(24).toString("base64url");
  const ending = new AbortController();
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
  const own = { app, port, maxHeaderBytes, trace, elapsed: host.elapsed };
  const server = await listen({ ...own, serverName: "the page", address: "127.0.0.1" });
  return {
    /** The page's URL, with the token after `#`, which browsers do not send and no trace contains. */
    url: `${server.url}/#token=${token}`,
    /** Resolves at the first request with the token, when the page is open. */
    firstRequest,
    showProgress: (done: number, of: number): void => {
      progress = { phase: "reading", done, of };
    },
    /** Shows the input, and reads it again if it has changed when the page is reloaded. @throws Failure of reading */
    async showInput(read: ReadInput): Promise<void> {
      for (;;) {
        const shown = await read();
        if (ending.signal.aborted) return await shown.dataset.close();
        const before = session;
        session = openSession(shown);
        measured = session.measure(ending.signal);
        progress = undefined;
        before?.end();
        await before?.dataset.close();
        await measured.catch((thrown: unknown) => {
          if (!ending.signal.aborted) throw thrown;
        });
        await new Promise<void>((resolve) => {
          onLoaded = async () => {
            if (progress !== undefined || !(await shown.hasChanged())) return;
            progress = openingProgress;
            resolve();
          };
        });
      }
    },
    /** Answers the requests in flight, then closes the input. */
    async close(): Promise<void> {
      ending.abort();
      session?.end();
      await server.close();
      await measured.catch(() => undefined);
      await session?.dataset.close();
    },
  };
};
