/** What the network can do to a request, by a code. */
import { codeOf } from "../files.ts";

/** Codes of the client's own, beside those of the system and of Node. */
type OwnCode =
  /** No connection within the time for it. */
  | "CONNECT_TIMEOUT"
  /** Nothing was sent or came for as long as `--timeout` allows. */
  | "SILENT"
  /** The answer went on for longer than a read, or the answer to a log, may take as a whole. */
  | "ENDLESS"
  /** The run was told to stop. */
  | "ABORTED"
  /** A proxy answered, but not with a connection. */
  | "PROXY_REFUSED"
  /** The other side ended the connection before its answer was whole. */
  | "CUT"
  /** What came is not HTTP/1.1. */
  | "NOT_HTTP"
  /** The answer was longer than the bound for it. */
  | "TOO_LONG";

/** The network's part in a request's end; never seen outside the room but as a failure's cause. */
export class Trouble extends Error {
  override readonly name = "Trouble";
  /** The system's or Node's code, or one of the client's own. */
  readonly code: string;
  /** The status a proxy answered with. */
  readonly status: number | undefined;

  constructor(code: OwnCode | (string & {}), about: { readonly cause?: unknown; readonly status?: number } = {}) {
    super(code, about.cause === undefined ? undefined : { cause: about.cause });
    this.code = code;
    this.status = about.status;
  }
}

/** Whatever was thrown by sockets, TLS or Node's HTTP client, as trouble. */
export const troubleOf = (thrown: unknown): Trouble => {
  if (thrown instanceof Trouble) return thrown;
  return new Trouble(causeOf(thrown), { cause: thrown });
};

const causeOf = (thrown: unknown): string => {
  const code = codeOf(thrown);
  if (code === "unknown") return "UNKNOWN";
  // Node's HTTP client has the system's code for what no call of the system said: that the other side just ended it.
  if (code === "ECONNRESET" && !Object.hasOwn(Object(thrown), "syscall")) return "CUT";
  return code.startsWith("HPE_") && code !== headTooLong ? "NOT_HTTP" : code;
};

/** Node's code for an answer whose headers are too large. */
const headTooLong = "HPE_HEADER_OVERFLOW";

/** Trouble that another try can't fix: certificates, a port that speaks something else, a proxy that says no. */
export const isPermanent = (trouble: Trouble): boolean =>
  permanentCodes.has(trouble.code) ||
  /^(CERT|ERR_TLS|ERR_SSL|UNABLE_TO_VERIFY|SELF_SIGNED)_/.test(trouble.code) ||
  (trouble.status !== undefined && trouble.status < 500);

/** Trouble of a mistyped address or a service that is not running: a person waits for neither. */
export const isHostMissing = ({ code }: Trouble): boolean =>
  code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "EAI_AGAIN";

const permanentCodes = new Set([
  "TOO_LONG",
  "ENDLESS",
  "NOT_HTTP",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "HOSTNAME_MISMATCH",
  "INVALID_CA",
  "EPROTO",
  headTooLong,
]);
