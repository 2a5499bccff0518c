/** Failures of requests to the service, of its replies, and of the way to it. */
import type { Credential, EndpointHost } from "../contract/endpoint.ts";
import { Failure, type FailureDetails } from "../failure.ts";
import { fieldPrefix, skipRefusedHint } from "../sentences.ts";
import { connectTimeoutMs, type ReplyHeaders, type TransportError } from "./exchange.ts";
import { findMessage } from "./reply-message.ts";
import type { RequestTarget } from "./request.ts";
import type { ParsedUrl } from "./route.ts";

export const invalidUrl = (why: "scheme" | "extras"): Failure => {
  const fault =
    why === "scheme" ? "does not begin with https:// or http://" : "holds a user, a password, a query or a fragment";
  return new Failure("usage", "invalid-url", `the address in the settings ${fault}`, {
    hint: "give it as https://host/path",
  });
};

export const invalidProxy = (variable: string): Failure =>
  new Failure("usage", "invalid-proxy", `${variable} does not name a proxy that can be used`, {
    hint: "give it as http://host:port or https://host:port",
  });

export const invalidPathParameter = (parameter: string, value: string): Failure => {
  const name = parameter.replaceAll("_", " ");
  return new Failure("usage", "invalid-path-parameter", `"${value}" can't be a ${name}: no address can be made of it`);
};

export const invalidHeader = (what: string): Failure => {
  const why = "its name or its value holds a character that no header can carry";
  return new Failure("usage", "invalid-header", `${what} can't be sent as a header: ${why}`, {
    hint: "look for a line end and for characters that are not ASCII, in it and in project_header",
  });
};

export const credentialOverHttp = (origin: string): Failure =>
  new Failure("usage", "credential-over-http", `${origin} is plain http: the key would travel in plain text`, {
    hint: "use https://, or --insecure-http where that is meant",
  });

/** The request that a failure is about. */
export interface RequestContext extends RequestTarget {
  readonly silenceMs: number;
  readonly tries: number;
  /** How its body is compressed. */
  readonly encoding?: string | undefined;
}

/** A reply with its status. */
interface StatusReply {
  readonly status: number;
  readonly headers: ReplyHeaders;
  /** Its body, decoded, as much as there is. */
  readonly bytes: Uint8Array;
  /** How long the service asks to wait; undefined if it asks nothing that can be read. */
  readonly retryAfterMs: number | undefined;
  /** The credential that was sent. */
  readonly credential: Credential | undefined;
}

/** The setting that holds the address of a host of the contract, and what is below the address. */
const urlSettings = {
  base: ["base_url", "base_url is what stands before /call/read and /inference/…"],
  inference: ["inference_base_url", "inference_base_url is what stands before /v1/models"],
  log: ["log_base_url", "log_base_url (or base_url) is what stands before /v1/preview/models/…/log"],
} as const satisfies Record<EndpointHost, readonly [string, string]>;

/** The setting that holds the address of a host of the contract. */
export const urlSettingOf = (host: EndpointHost): string => urlSettings[host][0];

const buildAbout = (
  { endpoint, url }: Pick<RequestTarget, "endpoint" | "url">,
  status?: number,
  said?: string,
): FailureDetails => ({
  where: { setting: urlSettingOf(endpoint.host) },
  http: { method: endpoint.method, url, status, said },
});

const appendSaid = (sentence: string, said: string | undefined): string =>
  said === undefined ? sentence : `${sentence}: ${said}`;

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`;
const times = (tries: number): string => (tries > 1 ? `, ${tries} times` : "");

/** The statuses that say "not now" (guarantees.md): worth another try where repeating is safe. */
export const isTransientStatus = (status: number): boolean => status === 408 || status === 429 || status >= 500;

/** Returns the failure for a reply that is not a success. */
export const toStatusFailure = (asked: RequestContext, reply: StatusReply): Failure => {
  const { status } = reply;
  const { endpoint, url } = asked;
  const { kind, said } = findMessage(reply.bytes);
  const [setting, addressAdvice] = urlSettings[endpoint.host];
  const about = buildAbout(asked, status, said);
  if (status === 401 || status === 403) return credentialRefused(asked, { ...reply, said });
  if (status === 404) {
    const message = `could not ${endpoint.name}: `;
    if (kind !== "json") {
      const nothing = appendSaid(`${message}there is nothing at ${url} (404)`, said);
      return new Failure("refused", "endpoint-not-found", nothing, { hint: addressAdvice, ...about });
    }
    const nothing = appendSaid(`${message}the service says that there is no such thing (404)`, said);
    const hint = `check what was asked for; ${addressAdvice}`;
    return new Failure("not_found", "resource-not-found", nothing, { hint, ...about });
  }
  if (status >= 300 && status < 400) {
    const { location = "" } = reply.headers;
    const to = location !== "" && URL.canParse(location, url) ? new URL(location, url) : undefined;
    // A query can have secrets.
    const target = to === undefined ? "somewhere else" : `${to.origin}${to.pathname}`;
    const message = `${url} redirects to ${target} (${status}), and rollcall follows no redirect`;
    const hint = `if that is the service, put its address into ${setting}`;
    return new Failure("refused", "unexpected-redirect", message, { hint, ...about });
  }
  if (!isTransientStatus(status)) return requestRefused(status, about, status === 415 ? asked.encoding : undefined);
  const { retryAfterMs } = reply;
  const message = appendSaid(`the service answered ${status}${times(asked.tries)}`, said);
  const hint =
    retryAfterMs === undefined
      ? "try again later; --max-wait says how long is waited"
      : `it asks to wait ${seconds(retryAfterMs)}: try again then, or give a longer --max-wait`;
  return new Failure("unavailable", "service-unavailable", message, { hint, ...about });
};

const credentialRefused = (
  { project, ...target }: RequestContext,
  { status, credential, said }: StatusReply & { readonly said: string | undefined },
): Failure => {
  const about = buildAbout(target, status, said);
  if (credential === undefined) {
    const message = `the service asks for a credential, and this operation has none (${status})`;
    const hint = "look whether the address is the service's, and whether something stands before it";
    return new Failure("auth", "credential-refused", appendSaid(message, said), { hint, ...about });
  }
  const { from } = credential;
  const hasProject = target.endpoint.projectHeader || target.endpoint.use === "calls";
  const withProject = project === undefined ? ", sent without a project" : ` and the project ${project}`;
  const message = `the service refused the credential from ${from}${hasProject ? withProject : ""} (${status})`;
  const check = hasProject
    ? "check the key and the project: a wrong project is answered like a wrong key"
    : "check the key";
  const other = /^[A-Z_]+$/.test(from)
    ? `${from} goes before what is saved`
    : "`rollcall auth login` saves another key";
  const hint = `${check}; ${other}`;
  return new Failure("auth", "credential-refused", appendSaid(message, said), {
    hint,
    credentialSource: from,
    ...about,
  });
};

/** The status of proxies that ask for a credential of their own. */
const proxyAuthentication = 407;

const proxyAdvice = "the proxy's user and password; NO_PROXY names what goes without it";

/** @param encoding how the request was compressed, if the service takes no such requests */
export const requestRefused = (status: number, about: FailureDetails, encoding?: string): Failure => {
  const { problems = [], http } = about;
  const [first] = problems;
  const refused = (message: string, hint: string): Failure =>
    new Failure("refused", "request-refused", message, { ...about, hint });
  if (encoding !== undefined) {
    const message = `the service takes no requests compressed with ${encoding} (${status})`;
    const hint = "leave compress off: `--compress none`, or `rollcall config unset compress`";
    return refused(appendSaid(message, http?.said), hint);
  }
  const message = `the service refused the request (${status})`;
  // What it said of each branch of a union was folded to what it means.
  if (first === undefined) return refused(appendSaid(message, http?.said), refusalAdvice(status, http?.said));
  const why =
    problems.length === 1
      ? `: ${fieldPrefix(first)}${first.message} [${first.rule}]`
      : `, for ${problems.length} reasons`;
  const hasLine = problems.some(({ line }) => line !== undefined);
  return refused(
    message + why,
    hasLine ? `fix what it names; or ${skipRefusedHint}` : refusalAdvice(status, first.message),
  );
};

/** What to do if a service names no place of the input: another request, since it would refuse the same one. */
const refusalAdvice = (status: number, said: string | undefined): string =>
  status === proxyAuthentication
    ? `a proxy in between asks for a password: HTTP_PROXY holds ${proxyAdvice}`
    : said === undefined
      ? "it does not say why: --debug shows its headers, for whoever runs the service"
      : "it would refuse the same request again: change what it names; --debug shows the request";

/** Returns the failure for a success that is not the reply that the interface has. @param at the name of what is not */
export const invalidReply = (
  target: RequestContext,
  {
    status,
    bytes,
    fault,
    at = "",
  }: { status: number; bytes: Uint8Array; fault: string | undefined; at?: string | undefined },
): Failure => {
  const message = fault === undefined ? findMessage(bytes) : undefined;
  const { kind, said } = message ?? {};
  // As much of a page's title, or of a text, as tells what it is.
  const title = said === undefined ? "" : ` ("${said.length > 200 ? `${said.slice(0, 200)}…` : said}")`;
  const what = {
    html: `with an HTML page${title}, not with JSON`,
    text: `with text${title}, not with JSON`,
    empty: "with nothing where JSON was expected",
    json: `with JSON that is not the interface's${at === "" ? "" : `, at ${at}`}`,
  };
  const came = kind === undefined ? "in a compression that was not asked for" : what[kind];
  return new Failure("refused", "invalid-reply", `${target.url} answered ${came}`, {
    hint: urlSettings[target.endpoint.host][1],
    isHtmlPage: kind === "html",
    ...buildAbout(target, status, said),
  });
};

export const replyTooLarge = (target: RequestContext, status: number | undefined, limitBytes: number): Failure => {
  const message = `the reply of ${target.url} is larger than ${limitBytes / 1024 / 1024} MiB`;
  return new Failure("refused", "reply-too-large", message, {
    hint: "no larger one is read: look whether the address is the service's, or fetch it with curl -o",
    ...buildAbout(target, status),
  });
};

/** What a code of the network means for a person: after "host:port". */
const codeMessages: Readonly<Record<string, string>> = {
  ENOTFOUND: "there is no machine of that name",
  EAI_AGAIN: "the name could not be looked up for now",
  ECONNREFUSED: "nothing listens there",
  ECONNRESET: "the connection was reset",
  EPIPE: "the connection was closed while the request was being sent",
  ETIMEDOUT: "there is no answer from that machine",
  EHOSTUNREACH: "there is no route to that machine",
  ENETUNREACH: "no network leads there",
  CERT_HAS_EXPIRED: "its certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another name",
  EPROTO: "it does not speak TLS",
  ERR_SSL_WRONG_VERSION_NUMBER: "it does not speak TLS",
  HPE_HEADER_OVERFLOW: "the headers of its answer are too large",
};

/** What a code of the client's own means: it is not shown. */
const ownCodeMessages: Readonly<Record<string, string>> = {
  CUT: "the connection ended before the answer was whole",
  CUT_HEADERS:
    "the connection ended within the headers of the answer; a 100 Continue that was not requested ends it too, and rollcall cannot log to a service that sends it",
  ENDLESS: "the answer did not come to its end in time",
  ABORTED: "the run was told to stop",
};

const unknownAuthorityCodes = /^(SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_(GET_ISSUER|VERIFY))/;

/** A transport error. */
type NetworkError = Pick<TransportError, "code" | "status">;

type Peer = Pick<ParsedUrl, "hostAndPort">;

/** The request that a connection was for. */
interface ConnectionContext extends Pick<RequestContext, "silenceMs" | "tries"> {
  readonly route: { readonly to: Peer; readonly proxy: Peer | undefined };
  readonly setting: string;
}

/** Returns the failure for a transport error on the way to an address. */
export const connectionFailed = (
  error: NetworkError,
  connecting: ConnectionContext,
  about: FailureDetails = {},
): Failure => {
  const { code } = error;
  const { route, tries } = connecting;
  const proxy = route.proxy === undefined ? "" : ` through the proxy ${route.proxy.hostAndPort}`;
  const meaning = describeError(error, connecting);
  return new Failure("unavailable", "connection-failed", `${route.to.hostAndPort}${proxy}: ${meaning}${times(tries)}`, {
    hint: connectionAdvice(code, connecting),
    systemCode: code,
    endedBy: describeEnd(code, meaning),
    ...about,
    cause: error,
  });
};

/** How a request ended that may have left, as a sentence. */
const describeEnd = (code: string, meaning: string): string => {
  if (code === "ABORTED") return "the run was told to stop before the answer came";
  if (code === "SILENT") return `the service was ${meaning}`;
  return (codeMessages[code] ?? ownCodeMessages[code]) === undefined ? `the connection broke (${code})` : meaning;
};

/** Returns the failure for a reply that is not complete. */
export const toTransportFailure = (asked: RequestContext, error: TransportError, status?: number): Failure =>
  connectionFailed(error, { ...asked, setting: urlSettingOf(asked.endpoint.host) }, buildAbout(asked, status));

const describeError = ({ code, status }: NetworkError, { silenceMs }: ConnectionContext): string => {
  if (code === "SILENT") return `silent for ${seconds(silenceMs)}`;
  if (code === "CONNECT_TIMEOUT") return `no connection within ${seconds(connectTimeoutMs)}`;
  if (code === "PROXY_REFUSED") return `the proxy refused the connection (${status ?? "no status"})`;
  if (code === "NOT_HTTP") return "it does not answer in HTTP/1.1";
  if (unknownAuthorityCodes.test(code)) return `its certificate is signed by an unknown authority (${code})`;
  return ownCodeMessages[code] ?? `${codeMessages[code] ?? "no connection"} (${code})`;
};

const connectionAdvice = (code: string, { setting, route }: ConnectionContext): string => {
  if (unknownAuthorityCodes.test(code)) return "NODE_EXTRA_CA_CERTS=<file.pem> adds an authority of your own";
  if (code === "PROXY_REFUSED") return `HTTPS_PROXY holds ${proxyAdvice}`;
  if (code === "EPROTO" || code === "ERR_SSL_WRONG_VERSION_NUMBER") return `is ${setting} meant to be http://?`;
  if (code === "NOT_HTTP") return `is ${setting} meant to be https://?`;
  if (code === "SILENT") return "--timeout says how long silence is allowed";
  if (code === "ENDLESS") return "a read may take --max-wait as a whole, the answer to a log twice --timeout";
  const place = setting === "log_base_url" ? "log_base_url, or base_url where that alone is set" : setting;
  return `check ${place}${route.proxy === undefined ? "" : ", and the proxy variables"}; the same command again is safe`;
};
