/** Sends requests to the service, and downloads from other URLs. */
import type { Credential, CredentialUse, EndpointHost } from "../contract/endpoint.ts";
import type { Failure } from "../failure.ts";
import type { Host } from "../host.ts";

export { type Client, openClient, type RetryBudget } from "./client.ts";
export type { DownloadOptions, DownloadReply, Downloads } from "./download.ts";

export const loadDownloads = () => import("./download.ts");

export type ClientOptions = Readonly<{
  host: Host;
  /** @throws Failure if the URL is not set */
  baseUrl: (host: EndpointHost) => string;
  /** `refused` is true after a 401. */
  credential: (use: CredentialUse, context: { origin: string; refused: boolean }) => Promise<Credential>;
  project: { header: string; value: string } | undefined;
  /** The longest time without data. Default: 30 s for a read, 5 min for a log. */
  timeoutMs: number | undefined;
  maxWaitMs: number;
  /** Default: true. */
  retries?: boolean;
  /** True if reads retry after an unknown host or a refused connection. */
  waitsForHost: boolean;
  insecureHttp: boolean;
  onRetry?: (reason: string, retry: Retry) => void;
  trace: ((line: string) => void) | undefined;
}>;

export type Reply<Value> = Readonly<{ value: Value; bytes: Uint8Array }>;

/** Each chunk may reuse the memory of the previous chunk. */
export interface StreamedBody {
  readonly length: number;
  chunks(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/** A retry may log the groups again (guarantees.md). */
export type Attempt =
  | Answer
  /** The reply has no status. `code` is the code of a transport error. */
  | Readonly<{ kind: "broken"; isBodySent: boolean; code: string; failure: Failure }>;

export type Answer = Readonly<{
  kind: "answered";
  status: number;
  isBodySent: boolean;
  retryAfterMs: number | undefined;
  /** True if the reply has `Retry-After`, valid or invalid. */
  hasRetryAfter: boolean;
  idempotencyKey: string | undefined;
  body: Uint8Array;
  /** True if the body is incomplete or cannot be decompressed. */
  isCut: boolean;
  failure: Failure | undefined;
}>;

export type Retry = Readonly<{
  /** The number of the next attempt, from 2. */
  attempt: number;
  waitMs: number;
  /** The rest of `--max-wait` after this wait. */
  leftMs: number;
}>;
