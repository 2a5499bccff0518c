/** What the network can do to a request, by a code. */

/** Codes of the client's own, beside those of the system and of undici. */
export type OwnCode =
  /** No connection within the time for it. */
  | "CONNECT_TIMEOUT"
  /** Nothing was sent or came for as long as `--timeout` allows. */
  | "SILENT"
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
  /** The system's or undici's code, or one of the client's own. */
  readonly code: string;
  /** The status a proxy answered with. */
  readonly status: number | undefined;

  constructor(code: OwnCode | (string & {}), about: { readonly cause?: unknown; readonly status?: number } = {}) {
    super(code, about.cause === undefined ? undefined : { cause: about.cause });
    this.code = code;
    this.status = about.status;
  }
}

/** Whatever was thrown by sockets, TLS or undici, as trouble. */
export const troubleOf = (thrown: unknown): Trouble => {
  if (thrown instanceof Trouble) return thrown;
  return new Trouble(codeOf(thrown) ?? "UNKNOWN", { cause: thrown });
};

/** undici says "other side closed" and counts that do not add up under these; all mean that the answer was cut. */
const cutCodes = new Set(["UND_ERR_SOCKET", "UND_ERR_RES_CONTENT_LENGTH_MISMATCH"]);

const codeOf = (thrown: unknown): string | undefined => {
  // undici gives this one no code.
  if (thrown instanceof Error && thrown.name === "HTTPParserError") return "NOT_HTTP";
  if (typeof thrown !== "object" || thrown === null || !("code" in thrown)) return undefined;
  if (typeof thrown.code !== "string") return undefined;
  return cutCodes.has(thrown.code) ? "CUT" : thrown.code;
};

/** Trouble that another try can't mend: certificates, a port that speaks something else, a proxy that says no. */
export const isPermanent = (trouble: Trouble): boolean =>
  permanentCodes.has(trouble.code) ||
  /^(CERT|ERR_TLS|ERR_SSL|UNABLE_TO_VERIFY|SELF_SIGNED)_/.test(trouble.code) ||
  (trouble.status !== undefined && trouble.status < 500);

const permanentCodes = new Set([
  "TOO_LONG",
  "NOT_HTTP",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "HOSTNAME_MISMATCH",
  "INVALID_CA",
  "EPROTO",
  "UND_ERR_HEADERS_OVERFLOW",
  "UND_ERR_INVALID_ARG",
]);
