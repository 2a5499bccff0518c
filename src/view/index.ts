/** The page in a browser: its server, on this machine alone. */
import { randomBytes } from "node:crypto";
import type { Host } from "../host.ts";
import { listen } from "../service/index.ts";
import type { Reading } from "../trajectories/index.ts";
import { appOf } from "./app.ts";
import type { ShownCalls } from "./calls.ts";
import { Looked } from "./looked.ts";
import { type AskedFor, mostSought } from "./shapes.ts";
import { type WrittenOptions, type WrittenPage, writtenPage } from "./written.ts";

export type { CallDetail, CallRows } from "./call-shapes.ts";
export type { CallRead, ShownCalls } from "./calls.ts";
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
  /** Shows what was read, which is closed with the viewer. Resolves once all was measured. @throws Failure `input-changed` */
  show(reading: Reading, options: { readonly asked: AskedFor }): Promise<void>;
  /** Shows calls in place of what was read. Resolves once all of them are listed. @throws what their ids end with */
  showCalls(shown: ShownCalls): Promise<void>;
  /** Shows a reading that is followed as far as it goes now; whoever reads closes it. @throws the signal's reason */
  grow(reading: Reading, options: { readonly asked: AskedFor }): Promise<void>;
  /** Has the page say what became of a file that is followed. */
  tell(text: string): void;
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
  const app = appOf({ token, looked, onAsked });
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
      const measured = looked.show(reading, { ...options, signal: ending.signal });
      shown = { reading, measured };
      await measured.catch((thrown: unknown) => {
        if (!ending.signal.aborted) throw thrown;
      });
    },
    showCalls: async (calls) => await looked.showCalls(calls),
    grow: async (reading, options) => await looked.grow(reading, { ...options, signal: host.signal }),
    tell: (text) => looked.tell(text),
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
