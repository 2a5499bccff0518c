/** A host for tests, with streams that store their text, a terminal of any width, and a clock that sleep advances. */
import { PassThrough, Readable } from "node:stream";
import type { Host } from "../../src/system/host.ts";

/** A host, and its output. */
export interface TestHost extends Host {
  /** Returns the output to stdout so far. */
  readonly printed: () => string;
  /** Returns the output to stderr so far. */
  readonly said: () => string;
}

/** Opens a host. No stream is a terminal unless `terminal` says so. */
export const testHost = ({
  env = {},
  terminal = {},
  stdin = "",
}: {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly terminal?: Partial<Host["terminal"]>;
  readonly stdin?: string | Uint8Array;
} = {}): TestHost => {
  const [stdout, stderr] = [keptStream(), keptStream()];
  let slept = 0;
  return {
    env,
    platform: "linux",
    argv: [],
    nodeVersion: process.versions.node,
    stdin: Readable.from([Buffer.from(stdin)]),
    stdout: stdout.stream,
    stderr: stderr.stream,
    terminal: { stdin: false, stdout: false, stderr: false, columns: 80, isSizeUnknown: false, ...terminal },
    now: () => Date.UTC(2025, 10, 1, 9, 30),
    elapsed: () => slept,
    sleep: async (ms) => {
      slept += ms;
    },
    random: () => 0.5,
    ignoreWarnings: () => undefined,
    signal: new AbortController().signal,
    urgent: new AbortController().signal,
    printed: stdout.text,
    said: stderr.text,
  };
};

const keptStream = (): { readonly stream: PassThrough; readonly text: () => string } => {
  const chunks: Buffer[] = [];
  const stream = new PassThrough();
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  return { stream, text: () => Buffer.concat(chunks).toString("utf8") };
};
