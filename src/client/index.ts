/** Sends one endpoint's request to the service and reads its reply. */
import type {
  AuthScheme,
  Credential,
  CredentialUse,
  Endpoint,
  EndpointHost,
  Schema,
  SchemaInput,
} from "../contract/endpoint.ts";
import type { Failure } from "../failure.ts";
import type { Host } from "../host.ts";
import type { Connections } from "./connections.ts";
import { buildHeaders, findTarget, openCredentials, toShownHeaders } from "./request.ts";
import { attemptOnce, openRetryBudget, type Session, send } from "./send.ts";

export type { DownloadOptions, DownloadReply, Downloads, ProbeResult } from "./download.ts";

/** Loads downloads, and the look at addresses: no request of the interface needs them. */
export const loadDownloads = () => import("./download.ts");

/** What a client is made of. */
export interface ClientOptions {
  readonly host: Host;
  /** Address of a host of the contract, without a trailing slash. @throws Failure if it is not set */
  readonly baseUrl: (host: EndpointHost) => string;
  /** The credential for a use; asked when a request needs it, and once more, with `refused`, after a 401. */
  readonly credential: (
    use: CredentialUse,
    about: { readonly origin: string; readonly refused: boolean },
  ) => Promise<Credential>;
  readonly project: { readonly header: string; readonly value: string } | undefined;
  /** Longest silence in either direction; undefined for the operation's own default. */
  readonly timeoutMs: number | undefined;
  /** Bounds all retries together. */
  readonly maxWaitMs: number;
  /** True if a read waits for a host that refuses connections or has no address: only if somebody said for how long. */
  readonly waitsForHost: boolean;
  /** True if credentials may travel over plain http to other machines. */
  readonly insecureHttp: boolean;
  /** Told once in a while why a run tries again, within what bound. */
  readonly onAgain?: (why: Failure, maxWaitMs: number) => void;
  /** Where lines of `--debug` go. */
  readonly trace: ((line: string) => void) | undefined;
}

/** A checked reply and the bytes it was read from (decoded, UTF-8). */
export interface Reply<Value> {
  /** 304 if what is held of an earlier reply is unchanged: value and bytes are those. */
  readonly status: number;
  readonly value: Value;
  readonly bytes: Uint8Array;
  readonly validators: Validators;
}

/** What a service gave to ask if a reply is unchanged (RFC 9110, 8.8), as far as a header can hold it. */
export interface Validators {
  readonly etag?: string;
  readonly lastModified?: string;
}

/** What is held of an earlier reply of the same request. */
export interface CachedReply {
  readonly validators: Validators;
  /** Its bytes; undefined if they can't be read after all: it is then asked for without conditions. */
  read(): Uint8Array | undefined;
}

/** A body in pieces. A piece has left the process when the next is asked for: its memory may be used again. */
export interface StreamedBody {
  readonly length: number;
  chunks(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/** What became of one attempt at a request that must not be repeated blindly (guarantees.md). */
export type Attempt = { readonly isBodySent: boolean } & (
  | {
      /** A status was read with its headers: it decides, even if sending broke. */
      readonly kind: "answered";
      readonly status: number;
      /** How long the service asks to wait; undefined if it asks for nothing that can be read. */
      readonly retryAfterMs: number | undefined;
      /** The `Idempotency-Key` that the service echoed. */
      readonly idempotencyKey: string | undefined;
      /** Decoded; as much of it as arrived within the bound. */
      readonly body: Uint8Array;
      /** True if the body ended before it was whole, or was over the bound. */
      readonly isCut: boolean;
      /** The failure of a run that ends with this answer; undefined for 2xx. */
      readonly failure: Failure | undefined;
    }
  /** It broke off without a final status, with the code of a transport error. */
  | { readonly kind: "broken"; readonly code: string; readonly failure: Failure }
);

/** Bounds all waiting of a run together by `--max-wait`. */
export interface RetryBudget {
  /**
   * Waits before another attempt: exponentially with full jitter, and at least as long as the service asked.
   * False, at once, if the bound does not allow it; else `onWait` is told before the wait.
   */
  wait(minMs: number | undefined, onWait?: () => void): Promise<boolean>;
}

/** What is asked of an endpoint. */
export interface EndpointRequest<P extends Schema, B extends Schema> {
  readonly parameters: SchemaInput<P>;
  readonly body: SchemaInput<B>;
  readonly held?: CachedReply;
}

/** What is asked of one with a streamed body. */
export interface StreamedRequest<P extends Schema> {
  readonly parameters: SchemaInput<P>;
  readonly body: StreamedBody;
  readonly headers?: Readonly<Record<string, string>>;
  /** Breaks the attempt off. Default: the host's signal. */
  readonly signal?: AbortSignal;
}

/** The service, as other modules see it. */
export interface Client {
  /**
   * Calls an endpoint and checks its reply; repeats it, within `--max-wait`, if the endpoint is safe to repeat.
   * `held` is asked for by its validators, and read in place of a reply that says that it is unchanged.
   * @throws Failure auth, unavailable, refused, not_found, usage
   */
  send<P extends Schema, B extends Schema, R>(
    endpoint: Endpoint<P, B, R>,
    request: EndpointRequest<P, B>,
  ): Promise<Reply<R>>;
  /**
   * Tries a streamed request once, on a connection of its own. What the network or the service does is a value.
   * @throws Failure only for what is wrong before anything is sent: settings, credentials; and whatever the body throws
   */
  attempt<P extends Schema, B extends Schema, R>(
    endpoint: Endpoint<P, B, R>,
    request: StreamedRequest<P>,
  ): Promise<Attempt>;
  /** Where a request would go, and its headers as `--debug` shows them. Nothing is sent, and no credential asked for. */
  target<P extends Schema, B extends Schema, R>(
    endpoint: Endpoint<P, B, R>,
    request: Pick<StreamedRequest<P>, "parameters" | "headers">,
  ): { readonly method: string; readonly url: string; readonly headers: readonly string[] };
  retryBudget(): RetryBudget;
  close(): Promise<void>;
}

/** In place of the credential, which nobody was asked for. */
const placeholderCredentials: Readonly<Record<AuthScheme, Credential | undefined>> = {
  bearer: { scheme: "bearer", token: "-", from: "" },
  basic: { scheme: "basic", username: "", password: "", from: "" },
  none: undefined,
};

/** Opens a client. Nothing is connected, and no credential asked for, before a request needs it. */
export const openClient = (options: ClientOptions): Client => {
  let opened: Promise<Connections> | undefined;
  const session: Session = {
    options,
    connections: () => {
      opened ??= import("./connections.ts").then(({ openConnections }) => openConnections(options.host));
      return opened;
    },
    pausedUntilMs: new Map(),
    credentials: openCredentials(options),
    announcedReasons: new Set(),
  };
  return {
    send: async (endpoint, request) => await send(session, endpoint, request),
    attempt: async (endpoint, request) => await attemptOnce(session, endpoint, request),
    target: (endpoint, { parameters, headers: own }) => {
      const { url } = findTarget(options, endpoint, parameters);
      const headers = buildHeaders(options, endpoint, { credential: placeholderCredentials[endpoint.auth], own });
      return { method: endpoint.method, url, headers: toShownHeaders(headers, options.project?.header) };
    },
    retryBudget: () => openRetryBudget(options),
    close: async () => (await opened)?.close(),
  };
};
