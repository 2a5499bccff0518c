/** What the network can do to a request, as one error with a code. */
import { codeOf } from "../files.ts";

/** Codes of the client's own, in addition to those of the system and of Node. */
type OwnCode =
  /** No connection within the time for it. */
  | "CONNECT_TIMEOUT"
  /** Nothing was sent or received for as long as `--timeout` allows. */
  | "SILENT"
  /** The reply took longer than a read, or the reply to a log, may take as a whole. */
  | "ENDLESS"
  /** The run was told to stop. */
  | "ABORTED"
  /** A proxy replied, but not with a connection. */
  | "PROXY_REFUSED"
  /** The other side ended the connection before its reply was complete. */
  | "CUT"
  /** As CUT, within the headers of the reply; undici also ends a connection on which an unrequested 100 Continue came. */
  | "CUT_HEADERS"
  /** The reply is not HTTP/1.1. */
  | "NOT_HTTP"
  /** The request's body threw an error. */
  | "BODY_FAILED"
  /** The reply is longer than its limit. */
  | "TOO_LONG";

/** A transport error. Other modules see it only as a failure's cause. */
export class TransportError extends Error {
  override readonly name = "TransportError";
  /** The system's or Node's code, or one of the client's own. */
  readonly code: string;
  /** The status that a proxy replied with. */
  readonly status: number | undefined;

  constructor(code: OwnCode | (string & {}), about: { readonly cause?: unknown; readonly status?: number } = {}) {
    super(code, about.cause === undefined ? undefined : { cause: about.cause });
    this.code = code;
    this.status = about.status;
  }
}

/** The code of a reply whose headers are too large: Node's own. */
const headersTooLarge = "HPE_HEADER_OVERFLOW";

/** undici's codes, and what they mean. */
const codes: Readonly<Record<string, OwnCode | typeof headersTooLarge>> = {
  UND_ERR_CONNECT_TIMEOUT: "CONNECT_TIMEOUT",
  UND_ERR_HEADERS_TIMEOUT: "SILENT",
  UND_ERR_BODY_TIMEOUT: "SILENT",
  UND_ERR_HEADERS_OVERFLOW: headersTooLarge,
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

/** True for an error that another try can't fix: certificates, a closed client, a proxy that refuses. */
export const isPermanent = ({ code, status }: TransportError): boolean =>
  permanentCodes.has(code) ||
  /^(CERT|ERR_TLS|ERR_SSL|UNABLE_TO_VERIFY|SELF_SIGNED)_/.test(code) ||
  (status !== undefined && status < 500);

/** True for a mistyped address or a service that is not running: a person waits for neither. */
export const isHostMissing = ({ code }: TransportError): boolean =>
  code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "EAI_AGAIN";

const permanentCodes = new Set([
  "ABORTED",
  "TOO_LONG",
  "ENDLESS",
  "NOT_HTTP",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "HOSTNAME_MISMATCH",
  "INVALID_CA",
  "EPROTO",
  headersTooLarge,
]);
