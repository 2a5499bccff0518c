import { Failure, type FailureDetails } from "../../failure.ts";
import { cutText, fieldPrefix, inProfile } from "../../text/sentences.ts";
import { formatMiB, formatSeconds, maxTimerMs } from "../../text/units.ts";
import { type Credential, urlSettingName } from "../contract/endpoint.ts";
import { type ExchangeResult, maxReplyBytes } from "./exchange.ts";
import { findStatedError, inspectBody, isQuotaUsedUp, readReplyJson } from "./reply-body.ts";
import { isTransientStatus } from "./retry.ts";
import { hostAndPort, isForwardedByProxy, type RequestTarget, type Route, withoutQuery } from "./route.ts";
import { connectTimeoutMs, TransportError, tlsCodes } from "./transport-error.ts";

export interface AttemptResult extends ExchangeResult {
  retryAfterMs: number | undefined;
  /** True if the reply has a valid `Retry-After`. */
  hasRetryAfter: boolean;
  /** True if the body is a web page, so that a gateway may have answered instead of the service. */
  isWebPage: boolean;
  credential: Credential | undefined;
}

export type RequestContext = RequestTarget & { silenceMs: number; attempts: number };

const urlSettings = {
  base: "base_url (the part of the URL before /call/read or /inference/…)",
  inference: "inference_base_url (the part of the URL before /v1/models)",
  log: "log_base_url or base_url (the part of the URL before /v1/preview/models/…/log)",
};

const toDetails = ({ endpoint, url }: RequestTarget, status?: number, said?: string) => ({
  where: { setting: urlSettingName(endpoint.host) },
  http: { method: endpoint.method, url, status, said },
});

const formatSaid = (message: string | undefined) => (message ? `: ${message}` : "");
const formatTenths = (ms: number) => formatSeconds(ms, Math.round, 10);
const formatAttempt = (attempts: number) => (attempts > 1 ? ` on attempt ${attempts}` : "");

const replyFaults: Readonly<Record<string, string>> = {
  BAD_ENCODING: "names a compression in Content-Encoding, but rollcall cannot decompress it",
  TOO_LONG: `is larger than ${formatMiB(maxReplyBytes)}`,
  UNKNOWN_ENCODING: "has a compression that rollcall did not request",
};

export const toReplyFailure = (request: RequestContext, reply: AttemptResult) => {
  const { status, error = new TransportError("CUT") } = reply;
  if (status !== undefined && (status < 200 || status >= 300)) return toStatusFailure(request, { ...reply, status });
  const { endpoint, url } = request;
  const details = toDetails(request, status);
  const fault = replyFaults[error.code];
  if (!fault) return connectionFailed(error, { ...request, setting: urlSettingName(endpoint.host) }, details);
  const download = error.code === "TOO_LONG" ? ", or download the answer with curl -o" : "";
  const hint = `check ${urlSettings[endpoint.host]}${download}`;
  return new Failure("refused", "invalid-reply", `the answer of ${url} ${fault}`, { hint, ...details });
};

const toStatusFailure = (request: RequestContext, reply: AttemptResult & { status: number }) => {
  const { endpoint, url, attempts } = request;
  const { status, retryAfterMs } = reply;
  const { kind, message } = inspectBody({ ...reply, isRefusal: true }, request.clean);
  const details = toDetails(request, status, message);
  const said = formatSaid(message);
  const setting = urlSettings[endpoint.host];
  const fail = (code: "not_found" | "refused" | "unavailable", kind: string, text: string, hint: string) =>
    new Failure(code, kind, text, { hint, ...details });
  if (status === 403 && isForwardedByProxy(request.route) && (kind === "html" || kind === "text"))
    return fail("refused", "proxy-refused", `a proxy refused the request to ${url} (403)${said}`, refusingProxyHint);
  if (status === 407) {
    const proxy = isForwardedByProxy(request.route) ? request.route.proxy : undefined;
    const who = proxy ? `the proxy ${hostAndPort(proxy.url)}` : "the service or a proxy";
    const hint = proxy ? proxyHint(proxy) : `check ${setting}, because no proxy of a proxy variable sent this answer`;
    return fail("refused", "request-refused", `${who} refused the request (407)${said}`, hint);
  }
  if (status === 403 && isAboutOrigin(kind, message)) {
    const text = `the service, or a gateway in front of it, refused the request but not the key (403)${said}`;
    return new Failure("auth", "origin-refused", text, { hint: originHint, ...details });
  }
  if (status === 401 || status === 403) return credentialRefused(request, reply.credential, details);
  if (status === 404 && kind === "json") {
    const [, parameter = ""] = /\{(\w+)\}/.exec(endpoint.path) ?? [];
    const named = parameter && `${parameter === "model_id" ? "the model id" : parameter}, and `;
    const text = `cannot ${endpoint.name}: the service answered "not found" (404)${said}`;
    return fail("not_found", "resource-not-found", text, `check ${named}${setting}`);
  }
  if (status === 404) {
    const text = `cannot ${endpoint.name}: ${url} was not found (404)${said}`;
    return fail("refused", "endpoint-not-found", text, `check ${setting}`);
  }
  if (redirects.has(status) || (status < 400 && reply.headers.location !== undefined))
    return unexpectedRedirect(request, reply.headers.location, details);
  const isTransient = isTransientStatus(status) || (status >= 500 && endpoint.use === "log");
  if (!isTransient) return requestRefused(status, details);
  const text = `the service answered ${status}${formatAttempt(attempts)}${said}`;
  if (isQuotaUsedUp(status, reply.bytes)) {
    const code = endpoint.use === "log" ? "unavailable" : "refused";
    const hint = "raise the quota of the account, or wait until it is renewed";
    return fail(code, "quota-used-up", text, hint).withDetails({ retryable: false });
  }
  return fail("unavailable", "service-unavailable", text, waitHint(retryAfterMs));
};

const waitHint = (retryAfterMs: number | undefined) => {
  if (retryAfterMs === undefined) return "try again later, or allow longer retries with --max-wait";
  if (retryAfterMs > maxTimerMs)
    return "try again later, or ask the operator of the service, because its Retry-After is longer than any --max-wait";
  return `try again in ${formatTenths(retryAfterMs)}, as the service asks, or increase --max-wait`;
};

/** Statuses that name another location (RFC 9110, 15.4). */
const redirects: ReadonlySet<number> = new Set([300, 301, 302, 303, 307, 308]);

const unexpectedRedirect = (request: RequestTarget, location: string | undefined, details: FailureDetails) => {
  const { endpoint, url } = request;
  const found = location && URL.canParse(location, url) ? new URL(location, url) : undefined;
  const target = found?.protocol.startsWith("http") ? withoutQuery(found) : "an invalid location";
  const to = location === undefined ? "without a location" : `to ${target}`;
  const text = `${url} redirects ${to} (${details.http?.status}), but rollcall does not follow redirects of a service`;
  const hint = `check ${urlSettings[endpoint.host]}`;
  return new Failure("refused", "unexpected-redirect", text, { hint, ...details });
};

/** A service answers in JSON. A page or text of another kind comes from a gateway, unless it is about the key. */
const isAboutOrigin = (kind: string, message = "") =>
  /(?<![a-z])(?:countr(?:y|ies)|regions?|territor(?:y|ies)|firewall|vpn|ip address|your (?:ip|location))(?![a-z])/i.test(
    message,
  ) ||
  (kind !== "json" && kind !== "empty" && !/key|token|credential|permission/i.test(message));

const originHint = "ask the operator to allow this machine, or send from another network";

const credentialRefused = (
  { project, endpoint }: RequestTarget,
  credential: Credential | undefined,
  details: FailureDetails,
) => {
  const refused = (what: string, hint: string) => {
    const text = `the service ${what} (${details.http?.status})${formatSaid(details.http?.said)}`;
    return new Failure("auth", "credential-refused", text, { ...details, hint });
  };
  if (!credential) {
    const hint = `check ${urlSettingName(endpoint.host)}, and any proxy in front of the service`;
    return refused("asks for a key, but rollcall sends this request without one", hint);
  }
  const { from, profile } = credential;
  const key = profile === undefined ? `the key from ${from}` : `the key of the profile ${profile}`;
  const [variable] = /ROLLCALL_\w+$/.exec(from) ?? [];
  const login = `\`${inProfile("rollcall auth login", profile ?? "default")}\``;
  const save = variable ? [] : [`save another key with ${login} (--for ${endpoint.use} if each use has its own)`];
  const ways = (what: string) => [`check ${what}${variable ? ` in ${variable}` : ""}`, ...save];
  if (endpoint.use === "log") return refused(`refused ${key}`, ways("the key").join(", or "));
  if (project !== undefined)
    return refused(`refused ${key} for the project ${project}`, ways("the project and the key").join(", or "));
  const hint = `${ways("the key").join(", ")}, or pass --project <team/project>`;
  return refused(`refused ${key} in a request without a project`, hint);
};

const refusingProxyHint =
  "ask the operator of the proxy to allow the host of the service, or list the host in NO_PROXY";

const proxyHint = ({ variable = "the proxy variable", authorization }: Partial<NonNullable<Route["proxy"]>> = {}) => {
  const login =
    authorization === undefined ? "put the proxy's user and password into" : "check the user and password in";
  return `${login} ${variable}, or list the host of the service in NO_PROXY`;
};

export const requestRefused = (status: number, details: FailureDetails, reasons?: number) => {
  const { problems = [], http } = details;
  const [first] = problems;
  const refused = (text: string, hint: string) => new Failure("refused", "request-refused", text, { ...details, hint });
  const text = `the service refused the request (${status})`;
  if (!first) return refused(text + formatSaid(http?.said), refusalHint(http?.said));
  const reason = `: ${fieldPrefix(first)}${first.message} [${first.rule}]`;
  const count = reasons ?? problems.length;
  const why = count === 1 ? reason : `, for ${count} reasons`;
  const hasLine = problems.some(({ line }) => line);
  return refused(text + why, hasLine ? "fix the reported values" : refusalHint(""));
};

const refusalHint = (message: string | undefined) => {
  if (message === undefined) return "run the command with --debug, and show the headers to the operator of the service";
  if (/\bhttps (?:port|server)\b/i.test(message)) return "begin the URL with https://";
  return "fix the reported cause first, because the service would refuse the same request again";
};

export const invalidReply = (
  request: RequestTarget,
  reply: Pick<AttemptResult, "bytes" | "isWebPage"> & { status: number; invalidPath?: string | undefined },
) => {
  const { status, bytes, invalidPath } = reply;
  const { url, endpoint } = request;
  const said = findStatedError(readReplyJson(bytes), request.clean);
  if (said !== undefined) {
    // Some services report errors with the status 200.
    const text = `cannot ${endpoint.name}: the service answered ${status} with an error${formatSaid(said)}`;
    return new Failure("refused", "error-in-reply", text, {
      hint: "fix the reported cause",
      ...toDetails(request, status, said),
    });
  }
  const { kind, message } = inspectBody(reply, request.clean);
  const title = message === undefined ? "" : ` ("${message.length > 200 ? `${cutText(message, 200)}…` : message}")`;
  const found = {
    html: `an HTML page${title}`,
    text: (/^[[{]/.test(message ?? "") ? "invalid JSON" : "text") + title,
    empty: "an empty answer",
    json: bytes[0] === 0x5b ? "an array" : "other JSON",
  };
  const text = invalidPath
    ? `unexpected JSON from ${url}: \`${invalidPath}\` is missing or invalid`
    : `expected ${kind === "json" ? "a JSON object" : "JSON"} from ${url}, found ${found[kind]}`;
  const hint = `check ${urlSettings[endpoint.host]}`;
  const details = { hint, ...toDetails(request, status, message) };
  return new Failure("refused", kind === "html" ? "html-reply" : "invalid-reply", text, details);
};

const systemTexts: Readonly<Record<string, string>> = {
  ENOTFOUND: "the host was not found",
  EAI_AGAIN: "the lookup of the host name failed temporarily",
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was reset",
  EPIPE: "the connection was closed while the request was being sent",
  ETIMEDOUT: "the host did not answer",
  EHOSTUNREACH: "the host is unreachable",
  ENETUNREACH: "the network is unreachable",
  CERT_HAS_EXPIRED: "its certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another name",
  HPE_HEADER_OVERFLOW: "the headers of the answer are too large",
};

const clientTexts: Readonly<Record<string, string>> = {
  CONNECT_TIMEOUT: `connecting took more than ${formatTenths(connectTimeoutMs)}`,
  CONNECT_ENDLESS: "connecting took longer than --max-wait allows",
  NOT_HTTP: "the service does not answer in HTTP/1.1",
  CUT: "the connection ended before the answer was complete",
  BAD_HEADERS: "the headers of the answer are incomplete or invalid",
  CONTINUE: "the service sent an unrequested 100 Continue, so rollcall cannot read its answer",
  ENDLESS: "the answer took too long",
  ABORTED: "the run was stopped before the answer came",
};

const connectCodes =
  /^(E(NOTFOUND|AI_AGAIN|CONNREFUSED|HOSTUNREACH|NETUNREACH|PROTO)|CONNECT_(TIMEOUT|ENDLESS)|PROXY_REFUSED)$/;
/** A server that speaks TLS ends other connections without an answer. */
const closedCodes = /^(CUT|ECONNRESET|EPIPE)$/;
const unknownAuthorityCodes = /^(SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_(GET_ISSUER|VERIFY))/;

type ConnectionError = Pick<TransportError, "code" | "status"> & Partial<Pick<TransportError, "isOfProxy">>;

type ConnectionContext = Pick<RequestContext, "route" | "silenceMs" | "attempts"> & { setting: string };

/** The cause's message says why the connection ended, such as `no data arrived for 5 s`. */
export const connectionFailed = (cause: ConnectionError, context: ConnectionContext, details: FailureDetails = {}) => {
  const { code: systemCode } = cause;
  const { setting, silenceMs, attempts, route } = context;
  const { to, proxy } = route;
  const target = `${hostAndPort(to)}${proxy ? ` through the proxy ${hostAndPort(proxy.url)}` : ""}`;
  const isConnecting = connectCodes.test(systemCode) || tlsCodes.test(systemCode);
  const event = isConnecting ? `cannot connect to ${target}` : `the request to ${target} failed`;
  const isClosedHttp = to.protocol === "http:" && closedCodes.test(systemCode) && details.http?.status === undefined;
  const endedBy = `${describeError(cause, silenceMs)}${isClosedHttp ? ", perhaps because the server expects https" : ""}`;
  const settingText = setting === "log_base_url" ? "log_base_url (or base_url)" : setting;
  const fix = connectionHint(cause, settingText, route);
  const check = `check ${settingText}${proxy ? " and the proxy variables" : ""}`;
  const isLate = systemCode === "CONNECT_ENDLESS";
  const retry = isLate ? "increase --max-wait" : "rerun the same command when the service is up";
  const facts = {
    hint: fix ?? `${check}, or ${retry}`,
    remedy: fix ?? (isConnecting ? check : undefined),
    systemCode,
    ...details,
    cause: new Error(endedBy, { cause }),
  };
  return new Failure("unavailable", "connection-failed", `${event}${formatAttempt(attempts)}: ${endedBy}`, facts);
};

const noTlsCodes = /^(EPROTO|ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG))$/;

const describeError = ({ code, status, isOfProxy }: ConnectionError, silenceMs: number) => {
  if (noTlsCodes.test(code)) return `the ${isOfProxy ? "proxy" : "server"} does not speak TLS (${code})`;
  if (code === "SILENT") return `no data arrived for ${formatTenths(silenceMs)}`;
  if (code === "PROXY_REFUSED") return `the proxy refused the connection (${status})`;
  if (unknownAuthorityCodes.test(code)) return `its certificate is signed by an unknown authority (${code})`;
  return clientTexts[code] ?? `${systemTexts[code] ?? "the connection failed"} (${code})`;
};

const connectionHint = (error: ConnectionError, setting: string, { certificates, proxy }: Route) => {
  const { code, status, isOfProxy } = error;
  if (unknownAuthorityCodes.test(code) && certificates)
    return `check that ${certificates}, the file in NODE_EXTRA_CA_CERTS, exists and contains the certificate of the authority in PEM format`;
  if (unknownAuthorityCodes.test(code)) return "if your network uses its own CA, set NODE_EXTRA_CA_CERTS=<file.pem>";
  if (code === "PROXY_REFUSED" && status === 403) return refusingProxyHint;
  if (code === "PROXY_REFUSED" && status === 407) return proxyHint(proxy);
  if (code === "SILENT" || code === "ENDLESS") return "increase --timeout";
  if (noTlsCodes.test(code) && isOfProxy)
    return `if the proxy uses plain http, begin ${proxy?.variable} with http://, which still protects https requests`;
  if (noTlsCodes.test(code)) return `if the server uses plain http, begin ${setting} with http://`;
  return isOfProxy ? `check ${proxy?.variable}, or list the host of the service in NO_PROXY` : undefined;
};
