/** The page in a browser: its server on this machine, and the page as a file. */
import { randomBytes } from "node:crypto";
import type { Host } from "../host.ts";
import { listen } from "../service/index.ts";
import type { Progress } from "./answers.ts";
import { appOf } from "./app.ts";
import type { Shown } from "./detail.ts";
import { maxSearchLength } from "./query.ts";
import { openSession, type Session } from "./session.ts";
import { type WrittenOptions, type WrittenPage, writtenPage } from "./written.ts";

export type { Charts, Findings, GroupDetail, Rows, State } from "./answers.ts";
export type { LoggedGroup, Shown } from "./detail.ts";
export { maxWritten, requirePageFile, type WrittenPage, writePageFile } from "./written.ts";

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

const opening: Progress = { phase: "opening", done: 0, of: 0 };

/** Serves the page, which shows progress until something is shown. @throws Failure `address-unusable` */
export const openViewer = async ({ host, port, trace }: ViewerOptions) => {
  const token = randomBytes(24).toString("base64url");
  const ending = new AbortController();
  /** Undefined while a session is shown. */
  let progress: Progress | undefined = opening;
  let session: Session | undefined;
  let measured: Promise<void> = Promise.resolve();
  let onAsked = (): void => undefined;
  const asked = new Promise<void>((resolve) => {
    onAsked = resolve;
  });
  let onLoaded = async (): Promise<void> => undefined;
  const app = appOf({
    token,
    answer: (name, query) => (name === "state" && progress !== undefined ? { progress } : session?.[name](query)),
    onAsked,
    onLoaded: async () => await onLoaded(),
  });
  const { elapsed } = host;
  const server = await listen({ app, server: "the page", address: "127.0.0.1", port, maxHeaderBytes, trace, elapsed });
  return {
    /** The page's address, with the token that opens it after `#`: no browser sends that, and no trace has it. */
    url: `${server.url}/#token=${token}`,
    /** Resolves once somebody with the token asked for something: the page is open. */
    asked,
    /** Has the page show the progress of reading, in bytes. */
    reading: (done: number, of: number): void => {
      progress = { phase: "reading", done, of };
    },
    /** Shows a reading, and closes the one before. Resolves once all was measured. @throws Failure `input-changed` */
    async show(shown: Shown): Promise<void> {
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
    reloaded: async (hasChanged: () => boolean | Promise<boolean>): Promise<void> =>
      await new Promise((resolve) => {
        onLoaded = async () => {
          if (!(await hasChanged())) return;
          onLoaded = async () => undefined;
          progress = opening;
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
export const pageOf = async (shown: Shown, options: WrittenOptions): Promise<WrittenPage> => {
  const session = openSession(shown);
  await session.measure(options.signal);
  return await writtenPage(session, options);
};
