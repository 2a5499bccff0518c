/** What the network can do to a request, as one error with a code. */
import { codeOf } from "../files.ts";

/**
 * A transport error. Other modules see it only as a failure's cause. Its code is the system's or Node's, or one of the client's
 * own: CONNECT_TIMEOUT; SILENT, for as long as `--timeout` allows; ENDLESS, longer than a reply may take as a whole; ABORTED,
 * by the run; PROXY_REFUSED, with the status of the proxy; CUT, by the other side; CUT_HEADERS, as CUT within the headers, or
 * by undici on an unrequested 100 Continue; NOT_HTTP; BODY_FAILED, the request's body threw; TOO_LONG, longer than its limit.
 */
export class TransportError extends Error {
  override readonly name = "TransportError";
  readonly code: string;
  readonly status: number | undefined;

  constructor(code: string, about: { readonly cause?: unknown; readonly status?: number } = {}) {
    super(code, about.cause === undefined ? undefined : { cause: about.cause });
    this.code = code;
    this.status = about.status;
  }
}

/** How long connecting may take, names, proxies and TLS included (promises.md, "Global options"). */
export const connectTimeoutMs = 10_000;

/** undici's codes, and what they mean. */
const codes: Readonly<Record<string, string>> = {
  UND_ERR_CONNECT_TIMEOUT: "CONNECT_TIMEOUT",
  UND_ERR_HEADERS_TIMEOUT: "SILENT",
  UND_ERR_BODY_TIMEOUT: "SILENT",
  UND_ERR_HEADERS_OVERFLOW: "HPE_HEADER_OVERFLOW",
  UND_ERR_SOCKET: "CUT",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "CUT",
  UND_ERR_REQ_CONTENT_LENGTH_MISMATCH: "CUT",
  UND_ERR_DESTROYED: "ABORTED",
  ABORT_ERR: "ABORTED",
};

/** Converts an error of undici, sockets or TLS. */
export const toTransportError = (thrown: unknown): TransportError => {
  if (thrown instanceof TransportError) return thrown;
  if (thrown instanceof Error && thrown.cause instanceof TransportError) return thrown.cause;
  return new TransportError(toCode(thrown), { cause: thrown });
};

const toCode = (thrown: unknown): string => {
  // undici's class of errors of its parser; it has no code.
  if (thrown instanceof Error && thrown.name === "HTTPParserError") return "NOT_HTTP";
  const code = codeOf(thrown);
  if (code === "unknown") return "UNKNOWN";
  // Without a call of the system, the other side just ended the connection.
  if (code === "ECONNRESET" && !Object.hasOwn(Object(thrown), "syscall")) return "CUT";
  return codes[code] ?? code;
};

const permanent = /^(ABORTED|TOO_LONG|ENDLESS|NOT_HTTP|EPROTO|HPE_HEADER_OVERFLOW|HOSTNAME_MISMATCH|INVALID_CA)$/;
const permanentOfTls = /^(CERT|ERR_TLS|ERR_SSL|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO)_/;
const hostMissing = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN)$/;

/**
 * True if another try can help: not with certificates, a closed client, or a proxy that refuses. A mistyped address and a
 * service that is not running are waited for only if somebody said for how long.
 */
export const isWorthAnotherTry = ({ code, status = 500 }: TransportError, waitsForHost: boolean): boolean =>
  !permanent.test(code) && !permanentOfTls.test(code) && status >= 500 && (waitsForHost || !hostMissing.test(code));
