/** The page in a browser: its server, on this machine alone. */
import { randomBytes } from "node:crypto";
import type { Reading } from "../groups/index.ts";
import type { Host } from "../host.ts";
import { listen } from "../service/index.ts";
import { appOf } from "./app.ts";
import type { ShownCalls } from "./calls.ts";
import { Looked } from "./looked.ts";
import { type AskedFor, mostSought } from "./shapes.ts";
import { type WrittenOptions, type WrittenPage, writtenPage } from "./written.ts";

export type { CallDetail, CallRows, CallSelection } from "./call-shapes.ts";
export type { CallRead, ShownCalls } from "./calls.ts";
export { requirePageFile, writePageFile } from "./page-file.ts";
export type { AskedFor, Charts, Findings, GroupDetail, Rows, State } from "./shapes.ts";
export { mostHeld, type WrittenPage } from "./written.ts";

interface ViewerOptions {
  readonly host: Host;
  /** The port of 127.0.0.1; 0 is any free one. */
  readonly port: number;
  /** Where a line about every exchange goes. */
  readonly trace: ((line: string) => void) | undefined;
}

/** A page that is served. Must be closed. */
export interface Viewer {
  /** The page's address, with the token that opens it: behind `#`, which no browser sends and no trace has. */
  readonly url: string;
  /** Resolves once somebody with the token asked for something: the page is open somewhere. */
  readonly asked: Promise<void>;
  /** Has the page show how far reading is, in bytes. */
  reading(done: number, of: number): void;
  /** Shows what was read in place of what was read before; it is closed with the viewer. Resolves once all was measured. @throws Failure `input-changed` */
  show(reading: Reading, options: { readonly asked: AskedFor }): Promise<void>;
  /** Resolves once the page is loaded again and the input has changed: it shows progress from then on. */
  reloaded(hasChanged: () => boolean): Promise<void>;
  /** Shows calls in place of what was read. */
  showCalls(shown: ShownCalls): void;
  /** Answers what is in flight, then closes what was shown. */
  close(): Promise<void>;
}

/** What is looked for stands in an address: an expression and a text of as much as the page takes, in whichever script. */
const maxHeaderBytes = 2 * 9 * mostSought + 2 ** 16;

/** Serves the page, which shows progress until something is shown. @throws Failure `address-unusable` */
export const openViewer = async ({ host, port, trace }: ViewerOptions): Promise<Viewer> => {
  const token = randomBytes(24).toString("base64url");
  const looked = new Looked();
  const ending = new AbortController();
  let onAsked = (): void => undefined;
  const isAsked = new Promise<void>((resolve) => {
    onAsked = resolve;
  });
  let onLoaded = (): void => undefined;
  const app = appOf({ token, looked, onAsked, onLoaded: () => onLoaded() });
  const server = await listen({
    app,
    server: "the page",
    address: "127.0.0.1",
    port,
    maxHeaderBytes,
    trace,
    elapsed: host.elapsed,
  });
  let shown: { readonly reading: Reading; readonly measured: Promise<void> } | undefined;
  return {
    url: `${server.url}/#token=${token}`,
    asked: isAsked,
    reading: (done, of) => looked.reading(done, of),
    async show(reading, options) {
      // The server may have ended while the input was read.
      if (ending.signal.aborted) return await reading.close();
      const before = shown;
      const measured = looked.show(reading, { ...options, signal: ending.signal });
      shown = { reading, measured };
      await before?.reading.close();
      await measured.catch((thrown: unknown) => {
        if (!ending.signal.aborted) throw thrown;
      });
    },
    reloaded: async (hasChanged) =>
      await new Promise((resolve) => {
        onLoaded = () => {
          if (!hasChanged()) return;
          onLoaded = () => undefined;
          looked.restart();
          resolve();
        };
      }),
    showCalls: (calls) => looked.showCalls(calls),
    async close() {
      ending.abort();
      looked.end();
      await server.close();
      await shown?.measured.catch(() => undefined);
      await shown?.reading.close();
    },
  };
};

/** The page of a reading as one file. @throws Failure `input-changed`; the signal's reason */
export const pageOf = async (
  reading: Reading,
  { asked, ...options }: WrittenOptions & { readonly asked: AskedFor },
): Promise<WrittenPage> => {
  const looked = new Looked();
  await looked.show(reading, { asked, signal: options.signal });
  return await writtenPage(looked, options);
};
