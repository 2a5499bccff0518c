/** Sends requests to the service and reads its replies. Also downloads from other URLs. */
import type { Credential, CredentialUse, EndpointHost } from "../contract/endpoint.ts";
import type { Failure } from "../failure.ts";
import type { Host } from "../host.ts";

export type { DownloadOptions, DownloadReply, Downloads } from "./download.ts";
export { type Client, openClient, type RetryBudget } from "./send.ts";

export const loadDownloads = () => import("./download.ts");

export interface ClientOptions {
  readonly host: Host;
  /** @throws Failure if the URL is not set */
  readonly baseUrl: (host: EndpointHost) => string;
  /** Returns the command, variable or option that sets the URL of a host. */
  readonly toUrlChange: (host: EndpointHost, url: string) => string;
  /** Called when a request needs a credential, and again with `refused` after a 401. */
  readonly credential: (
    use: CredentialUse,
    context: { readonly origin: string; readonly refused: boolean },
  ) => Promise<Credential>;
  readonly project: { readonly header: string; readonly value: string } | undefined;
  /** Longest silence in either direction. Default: 30 s for a read, 5 min for a log. */
  readonly timeoutMs: number | undefined;
  readonly maxWaitMs: number;
  /** Default: true. If false, each request has one attempt. */
  readonly retries?: boolean;
  /** True if a read waits for a host that is unknown or refuses connections. Requires `--max-wait`. */
  readonly waitsForHost: boolean;
  readonly insecureHttp: boolean;
  readonly onRetry?: (reason: string, retry: Retry) => void;
  readonly trace: ((line: string) => void) | undefined;
}

export type Reply<Value> = { readonly value: Value; readonly bytes: Uint8Array };

/** A body in chunks. The memory of a chunk may be reused when the next chunk is requested. */
export interface StreamedBody {
  readonly length: number;
  chunks(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/** The end of one attempt at a request that must not be repeated blindly (guarantees.md). */
export type Attempt = Answer | BrokenAttempt;

/** A status was read with its headers. The status decides the outcome, even if sending failed. */
export interface Answer {
  readonly kind: "answered";
  readonly status: number;
  readonly isBodySent: boolean;
  readonly retryAfterMs: number | undefined;
  /** True even if the value of `Retry-After` is invalid. */
  readonly hasRetryAfter: boolean;
  readonly idempotencyKey: string | undefined;
  readonly body: Uint8Array;
  /** True if the body is incomplete or cannot be decompressed. */
  readonly isCut: boolean;
  /** The failure if this answer ends the run; undefined for 2xx. */
  readonly failure: Failure | undefined;
}

/** No final status was read. `code` is the code of a transport error. */
type BrokenAttempt = Readonly<{ kind: "broken"; isBodySent: boolean; code: string; failure: Failure }>;

export interface Retry {
  /** The next attempt, from 2. */
  readonly attempt: number;
  readonly waitMs: number;
  /** The rest of `--max-wait` after the wait. */
  readonly leftMs: number;
}
