/** Reads a remote file as one stream. */
import type { DownloadReply, Downloads } from "../client/index.ts";
import { Failure } from "../failure.ts";
import { isLoopback } from "../host.ts";
import {
  type RemoteStore,
  remoteRefused,
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

/** As many as browsers follow. */
const maxRedirects = 20;

export type RemoteFile = ReturnType<typeof openRemoteFile>;

/** Opens a remote file, which requests nothing until it begins or is read. */
export const openRemoteFile = (location: RemoteLocation, { onBytes, insecureHttp, ...context }: RemoteContext) => {
  const { url: ownUrl, headers: credential } = location;
  const abort = new AbortController();
  const downloads = context.downloads.endedBy(abort.signal);
  let first: Promise<DownloadReply> | undefined;

  const followRedirects = async (): Promise<DownloadReply> => {
    let url = ownUrl;
    for (let redirects = 0; ; redirects++) {
      const got = await downloads.get(url, url.origin === ownUrl.origin ? credential : []);
      if (![301, 302, 303, 307, 308].includes(got.status)) return got;
      const { location: to = "" } = got.headers;
      got.cancel();
      if (redirects === maxRedirects || !URL.canParse(to, url.href)) throw toFailure(location, got);
      url = new URL(to, url);
      if (!isSafeTarget(ownUrl, url, { insecureHttp })) throw toFailure(location, got, { to: url });
    }
  };
  const request = async (): Promise<DownloadReply> => {
    const got = await followRedirects();
    if (got.status === 200) return got;
    const said = await readErrorMessage(got);
    if (got.status === 404 || got.status === 410) throw new UnusableInput("remote-not-found", { said });
    throw toFailure(location, got, { said });
  };
  const begin = (): Promise<DownloadReply> => {
    first ??= request();
    // The reader gets the error.
    first.catch(() => undefined);
    return first;
  };
  return {
    begin,
    /** @throws UnusableInput; Failure `remote-…`, `connection-failed`; the signal's reason */
    async *bytes(): AsyncGenerator<Uint8Array, void> {
      let bytes = 0;
      try {
        const { headers, chunks } = await begin();
        const { "content-length": size } = headers;
        for await (const chunk of chunks()) {
          bytes += chunk.length;
          onBytes(bytes, size === undefined ? undefined : Number(size));
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
    if (!(thrown instanceof Failure) || thrown.kind !== "connection-failed") throw thrown;
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
