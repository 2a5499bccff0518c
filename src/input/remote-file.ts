/** Reads a remote file as one stream. Continues after a broken connection, and rejects a file that changed. */
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
  UnusableInput,
  unsafeRedirect,
} from "./failures.ts";

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

/** After this many bytes, a broken connection is the fault of the network, and the time for retries starts again. */
const progressBytes = 2 ** 16;

/** As many as browsers follow. */
const maxRedirects = 20;

interface FileVersion {
  readonly etag: string | undefined;
  readonly lastModified: string | undefined;
  readonly size: number | undefined;
}

export type RemoteFile = ReturnType<typeof openRemoteFile>;

/** Opens a remote file, which requests nothing until it begins or is read. */
export const openRemoteFile = (location: RemoteLocation, { onBytes, insecureHttp, ...context }: RemoteContext) => {
  const { name, url: ownUrl, headers: credential } = location;
  const abort = new AbortController();
  const downloads = context.downloads.endedBy(abort.signal);
  let version: FileVersion | undefined;
  /** True if the version is that of a file at another origin, the target of a redirect. */
  let isElsewhere = false;
  let first: Promise<DownloadReply> | undefined;

  const followRedirects = async (range: Headers): Promise<DownloadReply> => {
    const conditional = [...range, ...versionHeaders(version)];
    let url = ownUrl;
    for (let redirects = 0; ; redirects++) {
      const isOwn = url.origin === ownUrl.origin;
      const headers = isOwn ? [...credential, ...(isElsewhere ? range : conditional)] : conditional;
      const got = await downloads.get(url, headers);
      if (![301, 302, 303, 307, 308].includes(got.status)) {
        isElsewhere = !isOwn;
        return got;
      }
      const { location: to = "" } = got.headers;
      got.cancel();
      if (redirects === maxRedirects || !URL.canParse(to, url.href)) throw toFailure(location, got);
      url = new URL(to, url);
      if (!isSafeTarget(ownUrl, url, { insecureHttp })) throw toFailure(location, got, { to: url });
    }
  };
  /** Requests the file from an offset. A server without ranges sends all of it. */
  const request = async (start: number): Promise<DownloadReply> => {
    const got = await followRedirects(start === 0 ? [] : [["Range", `bytes=${start}-`]]);
    const { status } = got;
    const isPart = status === 206 && start > 0;
    if (status === 200 || isPart) {
      const isRequested = !isPart || got.headers["content-range"]?.startsWith(`bytes ${start}-`) === true;
      if (isRequested && (version === undefined || isSameVersion(version, versionOf(got)))) return got;
      got.cancel();
      throw inputChanged(name);
    }
    const said = await readErrorMessage(got);
    if (status === 412 || status === 416) throw inputChanged(name);
    if (status === 404 || status === 410)
      throw version === undefined ? new UnusableInput("remote-not-found", { said }) : inputChanged(name);
    throw toFailure(location, got, { said });
  };
  /** Requests the file, once. */
  const begin = (): Promise<DownloadReply> => {
    first ??= request(0);
    // The reader gets the error.
    first.catch(() => undefined);
    return first;
  };
  async function* readStream(): AsyncGenerator<Uint8Array, void> {
    let budget = downloads.retryBudget();
    let taken = 0;
    for (let reply = begin(); ; reply = request(taken)) {
      const before = taken;
      try {
        const got = await reply;
        version ??= versionOf(got);
        let skipped = got.status === 206 ? 0 : taken;
        for await (const chunk of got.chunks()) {
          const fresh = chunk.subarray(skipped);
          skipped -= chunk.length - fresh.length;
          taken += fresh.length;
          if (fresh.length > 0) yield fresh;
        }
        if (skipped > 0) throw inputChanged(name);
        // A server can send less than the requested range.
        if (taken >= (version.size ?? 0)) return;
        if (taken === before) throw toFailure(location, got);
      } catch (thrown) {
        // The first request was repeated already.
        if (!isConnectionCut(thrown) || version === undefined) throw thrown;
        const isTagged = version.etag !== undefined || version.lastModified !== undefined;
        if (taken > 0 && !isTagged) throw remoteTruncated(name, taken, thrown);
        if (taken - before >= progressBytes) budget = downloads.retryBudget();
        if (!(await budget.wait(undefined))) throw thrown;
        downloads.announce(thrown);
      }
    }
  }
  return {
    begin,
    /** @throws UnusableInput; Failure `input-changed`, `remote-…`, `connection-failed`; the signal's reason */
    async *bytes(): AsyncGenerator<Uint8Array, void> {
      let bytes = 0;
      try {
        for await (const chunk of readStream()) {
          bytes += chunk.length;
          onBytes(bytes, version?.size);
          yield chunk;
        }
      } finally {
        abort.abort();
      }
    },
    /** Aborts all its requests. */
    abort: (): void => abort.abort(),
  };
};

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

const versionOf = ({ status, headers }: DownloadReply): FileVersion => {
  const size = status === 200 ? headers["content-length"] : /\/(\d+)$/.exec(headers["content-range"] ?? "")?.[1];
  return {
    etag: headers.etag,
    lastModified: headers["last-modified"],
    size: size === undefined ? undefined : Number(size),
  };
};

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
