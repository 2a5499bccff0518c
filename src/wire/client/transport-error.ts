/** Names the errors of connections. */
import { getErrorCode } from "../../system/files.ts";

export class TransportError extends Error {
  override readonly name = "TransportError";
  /** A code of the system or Node, or a code of this client such as `CUT`. */
  readonly code: string;
  readonly status: number | undefined;
  /** True if the connection to the proxy failed. */
  readonly isOfProxy: boolean;

  constructor(code: string, details: { cause?: unknown; status?: number | undefined; isOfProxy?: boolean } = {}) {
    super(code, details);
    this.code = code;
    this.status = details.status;
    this.isOfProxy = details.isOfProxy ?? false;
  }
}

/** The limit for name resolution, proxy, TCP and TLS together (guarantees.md). */
export const connectTimeoutMs = 10_000;

const undiciCodes: Readonly<Record<string, string>> = {
  UND_ERR_CONNECT_TIMEOUT: "CONNECT_TIMEOUT",
  UND_ERR_HEADERS_TIMEOUT: "SILENT",
  UND_ERR_BODY_TIMEOUT: "SILENT",
  UND_ERR_HEADERS_OVERFLOW: "HPE_HEADER_OVERFLOW",
  UND_ERR_SOCKET: "CUT",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "CUT",
  UND_ERR_REQ_CONTENT_LENGTH_MISMATCH: "CUT",
  UND_ERR_DESTROYED: "ABORTED",
  ABORT_ERR: "ABORTED",
  // undici asserts that no 101 without `Upgrade` comes.
  ERR_ASSERTION: "BAD_HEADERS",
};

export const toTransportError = (thrown: unknown) => {
  if (thrown instanceof TransportError) return thrown;
  if (thrown instanceof Error && thrown.cause instanceof TransportError) return thrown.cause;
  return new TransportError(toErrorCode(thrown), { cause: thrown });
};

const toErrorCode = (thrown: unknown) => {
  // The error of undici's parser contains the unread bytes. There are none if the connection ended.
  if (thrown instanceof Error && thrown.name === "HTTPParserError")
    return "data" in thrown && thrown.data === "" ? "CUT" : "NOT_HTTP";
  const code = getErrorCode(thrown);
  if (code === "unknown") return "UNKNOWN";
  // If the other side ended the connection, the error has no `syscall`.
  if (code === "ECONNRESET" && !Object.hasOwn(Object(thrown), "syscall")) return "CUT";
  return undiciCodes[code] ?? code;
};

const permanentCodes =
  /^(ABORTED|TOO_LONG|UNKNOWN_ENCODING|BAD_ENCODING|(CONNECT_)?ENDLESS|NOT_HTTP|EPROTO|HPE_HEADER_OVERFLOW|HOSTNAME_MISMATCH|INVALID_CA)$/;
export const tlsCodes = /^(CERT|ERR_TLS|ERR_SSL|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO)_/;
const hostCodes = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN)$/;

/** If `waitsForHost` is true, unknown hosts and refused connections are retryable. */
export const isRetryable = ({ code, status = 500 }: TransportError, waitsForHost: boolean) =>
  !permanentCodes.test(code) && !tlsCodes.test(code) && status >= 500 && (waitsForHost || !hostCodes.test(code));
