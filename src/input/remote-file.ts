/** Reads a remote file in ranges. Continues after a broken connection, and rejects a file that changed. */

import { text } from "node:stream/consumers";
import type { DownloadReply, Downloads } from "../client/index.ts";
import { Failure } from "../failure.ts";
import { isLoopback } from "../host.ts";
import type { RemoteStore } from "./failures.ts";
import {
  inputChanged,
  remoteRefused,
  remoteTruncated,
  remoteUnavailable,
  remoteUnexpectedStatus,
  unsafeRedirect,
} from "./failures.ts";
import { RemoteNotFound } from "./remote-urls.ts";

type Headers = readonly (readonly [name: string, value: string])[];

/** The location of a file. */
export interface RemoteLocation {
  /** In messages. */
  readonly name: string;
  readonly store: RemoteStore;
  /** The source of its credential, if it has one. */
  readonly credential: string | undefined;
  readonly url: URL;
  /** The credential, which only the origin of `url` gets. */
  readonly headers: Headers;
}

export interface RemoteContext {
  readonly downloads: Downloads;
  /** True if plain http is allowed. This machine needs no permission. */
  readonly insecureHttp: boolean;
  /** Receives the bytes so far, and the size if it is known. */
  readonly onBytes: (bytes: number, of: number | undefined) => void;
}

/** Bytes per range, and ranges in flight, which are in memory. */
const rangeBytes = 2 ** 23;
const maxRanges = 4;

/** After this many bytes, a broken connection is the fault of the network, and the time for retries starts again. */
const progressBytes = 2 ** 16;

interface ByteRange {
  readonly start: number;
  readonly end: number;
}

interface FileVersion {
  readonly etag: string | undefined;
  readonly lastModified: string | undefined;
  readonly size: number | undefined;
}

/** Reads a small response. @throws as `RemoteFile.bytes` */
export const fetchText = async (
  location: RemoteLocation,
  context: RemoteContext,
): Promise<{ readonly body: string; readonly headers: DownloadReply["headers"] }> => {
  const budget = context.downloads.retryBudget();
  for (;;) {
    const got = await new RemoteFile(location, context).request([]);
    try {
      return { body: await text(got.chunks()), headers: got.headers };
    } catch (thrown) {
      if (!isConnectionCut(thrown) || !(await budget.wait(undefined))) throw thrown;
    }
  }
};

/** A remote file. It requests nothing until it is read. */
export class RemoteFile {
  readonly #location: RemoteLocation;
  readonly #context: RemoteContext;
  readonly #abort = new AbortController();
  readonly #downloads: Downloads;
  /** The target of redirects, if it has another origin. */
  #target: URL | undefined;
  #version: FileVersion | undefined;
  #first: Promise<DownloadReply> | undefined;

  constructor(location: RemoteLocation, context: RemoteContext) {
    this.#location = location;
    this.#context = context;
    this.#downloads = context.downloads.endedBy(this.#abort.signal);
  }

  /** Requests the first range, once. */
  begin(): Promise<DownloadReply> {
    this.#first ??= this.request(rangeHeaders({ start: 0, end: rangeBytes }));
    // The reader gets the error.
    this.#first.catch(() => undefined);
    return this.#first;
  }

  /** Yields its bytes in order. @throws RemoteNotFound; Failure `input-changed`, `remote-…`, `connection-failed`; the signal's reason */
  async *bytes(): AsyncGenerator<Uint8Array, void> {
    let bytes = 0;
    try {
      for await (const chunk of this.#chunks()) {
        bytes += chunk.length;
        this.#context.onBytes(bytes, this.#version?.size);
        yield chunk;
      }
    } finally {
      this.abort();
    }
  }

  /** Aborts all its requests. */
  abort(): void {
    this.#abort.abort();
  }

  async *#chunks(): AsyncGenerator<Uint8Array, void> {
    const first = await this.begin();
    const version = versionOf(first);
    if (first.status === 206 && version.size !== undefined && hasValidator(version)) {
      this.#version = version;
      return yield* this.#readRanges(first, version.size);
    }
    if (first.status === 416 && version.size === 0) return;
    if (first.status !== 200) first.cancel();
    const whole = first.status === 200 ? first : await this.request([]);
    this.#version = versionOf(whole);
    yield* this.#readResuming(undefined, whole);
  }

  /** Requests some ranges ahead. */
  async *#readRanges(first: DownloadReply, size: number): AsyncGenerator<Uint8Array, void> {
    const coming: Promise<Uint8Array>[] = [];
    for (let start = 0; start < size || coming.length > 0; ) {
      while (start < size && coming.length < maxRanges) {
        const range = { start, end: Math.min(start + rangeBytes, size) };
        const bytes = this.#readRange(range, start === 0 ? first : undefined);
        // The reader gets the error.
        bytes.catch(() => undefined);
        coming.push(bytes);
        start = range.end;
      }
      const next = await coming.shift();
      if (next !== undefined) yield next;
    }
  }

  async #readRange(range: ByteRange, first: DownloadReply | undefined): Promise<Uint8Array> {
    const into = Buffer.allocUnsafeSlow(range.end - range.start);
    let filled = 0;
    for await (const chunk of this.#readResuming(range, first)) {
      into.set(chunk, filled);
      filled += chunk.length;
    }
    return into;
  }

  /**
   * Yields a range, and continues it after a broken connection. Without a range, yields the whole file: after a broken
   * connection, reads it again and skips the bytes that were yielded.
   */
  async *#readResuming(
    range: ByteRange | undefined,
    first: DownloadReply | undefined,
  ): AsyncGenerator<Uint8Array, void> {
    const { name } = this.#location;
    const length = range === undefined ? Number.POSITIVE_INFINITY : range.end - range.start;
    let budget = this.#downloads.retryBudget();
    let taken = 0;
    for (let got = first; ; got = undefined) {
      const before = taken;
      let skipped = range === undefined ? taken : 0;
      try {
        const rest = range === undefined ? undefined : { start: range.start + taken, end: range.end };
        got ??= await this.request(rest === undefined ? [] : rangeHeaders(rest));
        if (rest !== undefined && !isRangeResponse(got, rest.start)) {
          // The server has another file if it does not send ranges any more.
          got.cancel();
          throw inputChanged(name);
        }
        for await (const chunk of got.chunks()) {
          const fresh = chunk.subarray(skipped);
          skipped -= chunk.length - fresh.length;
          if (fresh.length > length - taken) throw toFailure(this.#location, got);
          taken += fresh.length;
          if (fresh.length > 0) yield fresh;
        }
        if (skipped > 0) throw inputChanged(name);
        if (range === undefined || taken === length) return;
      } catch (thrown) {
        if (!isConnectionCut(thrown)) throw thrown;
        if (range === undefined && taken > 0 && !hasValidator(this.#version))
          throw remoteTruncated(name, taken, thrown);
        if (taken - before >= progressBytes) budget = this.#downloads.retryBudget();
        if (!(await budget.wait(undefined))) throw thrown;
        this.#downloads.announce(thrown);
      }
    }
  }

  /** Requests the file, or a range. Rejects errors and other versions of the file. */
  async request(headers: Headers): Promise<DownloadReply> {
    const got = await this.#followRedirects(headers);
    const { status } = got;
    if (status === 200 || status === 206) {
      if (this.#version === undefined || isSameVersion(this.#version, versionOf(got))) return got;
      got.cancel();
      throw inputChanged(this.#location.name);
    }
    if (status === 416 && this.#version === undefined) return got;
    const said = await readErrorMessage(got);
    if (status === 412 || status === 416) throw inputChanged(this.#location.name);
    if (status === 404 || status === 410)
      throw this.#version === undefined ? new RemoteNotFound(said) : inputChanged(this.#location.name);
    throw toFailure(this.#location, got, { said });
  }

  async #followRedirects(headers: Headers): Promise<DownloadReply> {
    const { url: own, headers: credential } = this.#location;
    const conditional = [...headers, ...versionHeaders(this.#version)];
    const target = this.#target;
    if (target !== undefined) {
      const got = await this.#downloads.get(target, conditional);
      if (got.status < 400 || got.status === 412 || got.status === 416) return got;
      // Targets of redirects are often signed for some minutes.
      got.cancel();
    }
    this.#target = undefined;
    // The conditions belong to the target.
    const first = [...credential, ...(target === undefined ? conditional : headers)];
    let url = own;
    for (let redirects = 0; ; redirects++) {
      const got = await this.#downloads.get(url, url.origin === own.origin ? first : conditional);
      if (![301, 302, 303, 307, 308].includes(got.status)) return got;
      const { location = "" } = got.headers;
      got.cancel();
      if (redirects === maxRedirects || !URL.canParse(location, url.href)) throw toFailure(this.#location, got);
      url = new URL(location, url);
      if (!isSafeTarget(own, url, this.#context)) throw toFailure(this.#location, got, { to: url });
      this.#target = url.origin === own.origin ? undefined : url;
    }
  }
}

/** As many as browsers follow. */
const maxRedirects = 20;

/** True for https, and for plain http on this machine or with `--insecure-http`. */
export const isAllowed = (
  { protocol, hostname }: URL,
  { insecureHttp }: Pick<RemoteContext, "insecureHttp">,
): boolean => protocol === "https:" || (protocol === "http:" && (insecureHttp || isLoopback(hostname)));

/** True if a reply may lead from one URL to another: never from https to plain http. */
export const isSafeTarget = (from: URL, to: URL, context: Pick<RemoteContext, "insecureHttp">): boolean =>
  isAllowed(to, context) && (to.protocol === "https:" || from.protocol === "http:");

const isConnectionCut = (thrown: unknown): thrown is Failure =>
  thrown instanceof Failure && thrown.kind === "connection-failed";

const rangeHeaders = ({ start, end }: ByteRange): Headers => [["Range", `bytes=${start}-${end - 1}`]];

const isRangeResponse = ({ status, headers }: DownloadReply, start: number): boolean =>
  status === 206 && headers["content-range"]?.startsWith(`bytes ${start}-`) === true;

const versionOf = ({ status, headers }: DownloadReply): FileVersion => {
  const size = status === 200 ? headers["content-length"] : /\/(\d+)$/.exec(headers["content-range"] ?? "")?.[1];
  return {
    etag: headers.etag,
    lastModified: headers["last-modified"],
    size: size === undefined ? undefined : Number(size),
  };
};

const hasValidator = (version: FileVersion | undefined): boolean =>
  version?.etag !== undefined || version?.lastModified !== undefined;

/** True if no header distinguishes two versions. */
const isSameVersion = (one: FileVersion, other: FileVersion): boolean =>
  [
    [one.etag?.replace(/^W\//, ""), other.etag?.replace(/^W\//, "")],
    [one.lastModified, other.lastModified],
    [one.size, other.size],
  ].every(([a, b]) => a === undefined || b === undefined || a === b);

/** Returns headers that request the same version (RFC 9110, 13.1: only with a strong tag). */
const versionHeaders = (version: FileVersion | undefined): Headers => {
  if (version?.etag?.startsWith('"') === true) return [["If-Match", version.etag]];
  return version?.lastModified === undefined ? [] : [["If-Unmodified-Since", version.lastModified]];
};

const maxErrorLength = 2 ** 16;

/** Returns the message of an error: in XML from a bucket, in a header or JSON from the Hub. */
const readErrorMessage = async (got: DownloadReply): Promise<string | undefined> => {
  let body = "";
  try {
    for await (const chunk of got.chunks()) {
      body += Buffer.from(chunk).toString("utf8");
      if (body.length > maxErrorLength) break;
    }
  } catch (thrown) {
    if (!isConnectionCut(thrown)) throw thrown;
  }
  const [, code] = /<Code>([^<]{1,200})<\/Code>/.exec(body) ?? [];
  const [, message] =
    /<Message>([^<]{1,1000})<\/Message>/.exec(body) ?? /"(?:error|message)"\s*:\s*"([^"]{1,1000})"/.exec(body) ?? [];
  return [code, got.headers["x-error-message"] ?? message].filter(Boolean).join(": ") || undefined;
};

const toFailure = (
  { name, store, credential: from }: RemoteLocation,
  { status, retryAfterMs, tries }: DownloadReply,
  { said, to }: { readonly said?: string | undefined; readonly to?: URL } = {},
): Failure => {
  const about = { http: { method: "GET", url: name, status, said }, where: { file: name } };
  if (status === 401 || status === 403) return remoteRefused({ name, status, from, store }, about);
  if (status === 408 || status === 429 || status >= 500)
    return remoteUnavailable({ name, status, askedMs: retryAfterMs, tries }, about);
  return to === undefined
    ? remoteUnexpectedStatus({ name, status }, about)
    : unsafeRedirect({ name, status }, to, about);
};
