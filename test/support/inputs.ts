/** Writes inputs, reads them as a dataset, and delivers them. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { readRoot } from "../../src/json/table.ts";
import { logDataset } from "../../src/logging/send/log-dataset.ts";
import type { LogEvents, LogPolicy, LogTools } from "../../src/logging/send/policy.ts";
import { type Dataset, readDataset } from "../../src/rollouts/dataset/read-dataset.ts";
import { type Strictness, warningRules } from "../../src/rollouts/rules/rules.ts";
import type { Host } from "../../src/system/host.ts";
import type { Attempt, Client } from "../../src/wire/client/client.ts";
import { connectionFailed } from "../../src/wire/client/failures.ts";
import { testHost } from "./host.ts";

/** Creates a folder, and deletes it after the test. */
export const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "trajectories-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

/** Writes files into a new folder. Returns their paths. */
export const filesOf = (...contents: readonly (string | Uint8Array)[]): readonly string[] => {
  const folder = newFolder();
  return contents.map((content, at) => {
    const path = join(folder, `${at + 1}.jsonl`);
    writeFileSync(path, content);
    return path;
  });
};

export interface ReadOptions {
  readonly host?: Host;
  readonly split?: string;
  readonly isSplitRequired?: boolean;
  readonly groupBy?: string;
  /** Default: warnings about the training signal are allowed, because most tests do not concern them. */
  readonly strictness?: Strictness;
  readonly maxUnpackedBytes?: number;
  /** Called after the files are opened. */
  readonly onOpened?: () => void;
  readonly onProgress?: Parameters<typeof readDataset>[0]["onProgress"];
  /** Measures the facts of trajectories. */
  readonly measures?: Parameters<typeof readDataset>[0]["measures"];
}

/** Warnings about the form of the input. Warnings about the training signal have separate tests. */
const aboutForm: ReadonlySet<string> = new Set([
  "mixed-shapes",
  "split-requests",
  "element-type",
  "reward-not-finite",
  "metric-not-finite",
  "metric-name",
  "missing-role",
  "unknown-role",
  "missing-tool-call-id",
  "error-in-response",
]);

const others: ReadonlySet<string> = new Set(warningRules.filter((rule) => !aboutForm.has(rule)));

/** Reads files, and closes them when the test is finished. */
export const read = async (files: readonly string[], asked: ReadOptions = {}): Promise<Dataset> => {
  const reading = await readDataset({
    host: asked.host ?? testHost(),
    files,
    split: asked.split,
    isSplitRequired: asked.isSplitRequired === true,
    maxUnpackedBytes: asked.maxUnpackedBytes ?? 2 ** 36,
    groupBy: asked.groupBy === undefined ? undefined : [asked.groupBy],
    strictness: asked.strictness ?? { strict: false, allowed: others },
    from: "rollcall",
    onOpened: asked.onOpened ?? (() => undefined),
    onProgress: asked.onProgress,
    measures: asked.measures,
  });
  onTestFinished(() => reading.close());
  return reading;
};

/** All results in a dataset. */
export const allOf = ({ scan, groups }: Dataset) => ({
  parts: Array.from({ length: scan.parts.count }, (_, at) => scan.parts.at(at)),
  groups: Array.from({ length: groups.count }, (_, at) => [...groups.partsOf(at)].concat(Number(groups.isValid(at)))),
  digests: Array.from({ length: groups.count }, (_, at) => Buffer.from(groups.digestOf(at)).toString("hex")),
  metrics: scan.tally.metrics("train"),
  counts: scan.problems.counts,
  problems: scan.problems.sorted(),
  shapes: [...scan.shapes],
  training: scan.training,
  requests: scan.requests.distinct,
});

/** Returns the failure of `read`; undefined if it succeeds. */
export const readFailure = async (files: readonly string[], asked: ReadOptions = {}): Promise<unknown> =>
  await read(files, asked).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );

/** The problems of files as `rule line:column path`. */
export const problemsOf = async (files: readonly string[], asked: ReadOptions = {}): Promise<readonly string[]> => {
  const reading = await read(files, asked);
  return reading.scan.problems
    .sorted()
    .map(({ rule, line, column, path = [] }) => [rule, `${line}:${column}`, path.join(".")].join(" ").trim());
};

export const makeAnswer = (
  status: number,
  { bytes = Buffer.from("{}"), ...more }: Partial<Extract<Attempt, { kind: "answered" }>> = {},
): Attempt => ({
  kind: "answered",
  status,
  ...{ retryAfterMs: undefined, hasRetryAfter: false, isWebPage: false },
  headers: {},
  bytes,
  json: readRoot(bytes),
  isCut: false,
  isBodySent: true,
  failure: undefined,
  ...more,
});

/** A client that stores bodies. Default: it answers 200. */
export const openRecordingClient = (
  answer: (body: Buffer, attempt: number) => Attempt | Promise<Attempt> = () => makeAnswer(200),
): Client & { readonly bodies: readonly Buffer[] } => {
  const bodies: Buffer[] = [];
  return {
    bodies,
    send: async () => {
      throw new Error("nothing reads here");
    },
    async attempt(_endpoint, { body }) {
      const chunks: Uint8Array[] = [];
      for await (const chunk of body.chunks()) chunks.push(Buffer.from(chunk));
      const whole = Buffer.concat(chunks);
      if (whole.length !== body.length) throw new Error(`${body.length} bytes were promised, ${whole.length} came`);
      bodies.push(whole);
      return await answer(whole, bodies.length);
    },
    describeRequest: () => ({ method: "POST", url: "", headers: [] }),
    retryBudget: () => ({ wait: async () => true }),
    close: async () => undefined,
  };
};

/** The policy, the tools and the events of a delivery in one object. */
export type DeliverOptions = LogPolicy & LogTools & LogEvents;

export const deliverGroups = async (dataset: Dataset, options: DeliverOptions) =>
  await logDataset(dataset, { policy: options, tools: options, events: options });

/** Default options of a delivery: once, without a ledger. */
export const usualDelivery = (): Omit<DeliverOptions, "client"> => ({
  host: testHost(),
  modelId: "m",
  split: "train",
  batch: undefined,
  ledgerArgs: [],
  account: "default",
  destination: async () => "http://service/log",
  maxRequestBytes: 2 ** 25,
  concurrency: 1,
  hasIdempotencyKeys: true,
  honorsKeys: false,
  maxWaitMs: 1000,
  dryRun: false,
  ledger: undefined,
  resendLogged: false,
  onInvalid: "stop",
  onUnknown: "stop",
  rejects: undefined,
  redact: (json) => json,
  clean: String,
  onOpen: () => undefined,
  onWait: () => undefined,
  onUnavailable: () => undefined,
  onProgress: () => undefined,
  onResend: () => undefined,
});

export const connectionReset = connectionFailed(
  { code: "ECONNRESET", status: undefined },
  {
    route: { to: new URL("http://service"), proxy: undefined },
    ...{ silenceMs: 1000, attempts: 1, setting: "base_url" },
  },
);
