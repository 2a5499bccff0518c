/** Failures of requests to the service. */
import { type About, Failure } from "../failure.ts";
import { fieldOf, skipRefused } from "../sentences.ts";

export const addressMalformed = (why: "scheme" | "extras"): Failure => {
  const fault =
    why === "scheme" ? "does not begin with https:// or http://" : "holds a user, a password, a query or a fragment";
  return new Failure("usage", "address-malformed", `the address in the settings ${fault}`, {
    hint: "give it as https://host/path",
  });
};

export const proxyUnusable = (variable: string): Failure =>
  new Failure("usage", "proxy-unusable", `${variable} does not name a proxy that can be used`, {
    hint: "give it as http://host:port or https://host:port",
  });

export const pathParameterUnusable = (parameter: string, value: string): Failure => {
  const name = parameter.replaceAll("_", " ");
  return new Failure("usage", "path-parameter-unusable", `"${value}" can't be a ${name}: no address can be made of it`);
};

export const headerUnusable = (what: string): Failure => {
  const why = "its name or its value holds a character that no header can carry";
  return new Failure("usage", "header-unusable", `${what} can't be sent as a header: ${why}`, {
    hint: "look for a line end and for characters that are not ASCII, in it and in project_header",
  });
};

export const credentialOverHttp = (origin: string): Failure =>
  new Failure("usage", "credential-over-http", `${origin} is plain http: the key would travel in plain text`, {
    hint: "use https://, or --insecure-http where that is meant",
  });

const withSaid = (sentence: string, { http }: About): string =>
  http?.said === undefined ? sentence : `${sentence}: ${http.said}`;

const addressAdvice = (setting: string): string =>
  setting === "inference_base_url"
    ? "inference_base_url is what stands before /v1/models"
    : setting === "log_base_url"
      ? "log_base_url (or base_url) is what stands before /v1/preview/models/…/log"
      : "base_url is what stands before /call/read and /inference/…";

/** @param operation what could not be done @param setting the one that holds the address */
export const nothingThere = (operation: string, setting: string, about: About): Failure => {
  const message = `could not ${operation}: the service says that there is no such thing (404)`;
  return new Failure("not_found", "nothing-there", withSaid(message, about), {
    hint: `check what was asked for; ${addressAdvice(setting)}`,
    ...about,
  });
};

export const addressWrong = (operation: string, setting: string, about: About): Failure => {
  const message = `could not ${operation}: there is nothing at ${about.http?.url ?? "the address"} (404)`;
  return new Failure("refused", "address-wrong", withSaid(message, about), { hint: addressAdvice(setting), ...about });
};

export const redirected = (to: string | undefined, setting: string, about: About): Failure => {
  const [url, status] = [about.http?.url ?? "the address", about.http?.status ?? "redirect"];
  const message = `${url} redirects to ${to ?? "somewhere else"} (${status}), and rollcall follows no redirect`;
  return new Failure("refused", "redirected", message, {
    hint: `if that is the service, put its address into ${setting}`,
    ...about,
  });
};

/**
 * @param from where the credential came from; undefined if none was sent
 * @param project the project that was sent; undefined if none is set, null if the operation has none
 */
export const credentialRefused = (
  { status, from, project }: { status: number; from: string | undefined; project: string | undefined | null },
  about: About,
): Failure => {
  if (from === undefined) {
    const message = `the service asks for a credential, and this operation has none (${status})`;
    return new Failure("auth", "credential-refused", withSaid(message, about), {
      hint: "look whether the address is the service's, and whether something stands before it",
      ...about,
    });
  }
  const beside =
    project === undefined ? ", sent without a project" : project === null ? "" : ` and the project ${project}`;
  const other = /^[A-Z_]+$/.test(from)
    ? `${from} goes before what is saved`
    : "`rollcall auth login` saves another key";
  const check =
    project === null ? "check the key" : "check the key and the project: a wrong project is answered like a wrong key";
  const message = `the service refused the credential from ${from}${beside} (${status})`;
  return new Failure("auth", "credential-refused", withSaid(message, about), {
    hint: `${check}; ${other}`,
    credentialFrom: from,
    ...about,
  });
};

/** The status of proxies that ask for a credential of their own. */
const proxyAuthentication = 407;

const proxyAdvice = "the proxy's user and password; NO_PROXY names what goes without it";

/** @param encoding how the request was compressed, if the service takes no such requests */
export const requestRefused = (status: number, about: About, encoding?: string): Failure => {
  const { problems = [] } = about;
  const [first] = problems;
  const refused = (message: string, hint: string): Failure =>
    new Failure("refused", "request-refused", message, { ...about, hint });
  if (encoding !== undefined) {
    const hint = "leave compress off: `--compress none`, or `rollcall config unset compress`";
    return refused(withSaid(`the service takes no requests compressed with ${encoding} (${status})`, about), hint);
  }
  const message = `the service refused the request (${status})`;
  // What it said of each branch of a union was folded to what it means.
  if (first === undefined) return refused(withSaid(message, about), unplacedAdvice(status, about.http?.said));
  const why =
    problems.length === 1 ? `: ${fieldOf(first)}${first.message} [${first.rule}]` : `, for ${problems.length} reasons`;
  const isPlaced = problems.some(({ line }) => line !== undefined);
  return refused(
    message + why,
    isPlaced ? `fix what it names; or ${skipRefused}` : unplacedAdvice(status, first.message),
  );
};

/** What to do if a service names no place of the input: another request, since it would refuse the same one. */
const unplacedAdvice = (status: number, said: string | undefined): string =>
  status === proxyAuthentication
    ? `a proxy in between asks for a password: HTTP_PROXY holds ${proxyAdvice}`
    : said === undefined
      ? "it does not say why: --debug shows its headers, for whoever runs the service"
      : "it would refuse the same request again: change what it names; --debug shows the request";

/** @param at the dotted name of what is not as the interface has it */
export const replyUnreadable = (
  {
    came,
    at = "",
    setting,
  }: {
    came: "html" | "text" | "empty" | "json" | "unknown-encoding";
    at?: string | undefined;
    setting: string;
  },
  about: About,
): Failure => {
  const { url = "the service", said } = about.http ?? {};
  // As much of a page's title, or of a text, as tells what it is.
  const title = said === undefined ? "" : ` ("${said.length > 200 ? `${said.slice(0, 200)}…` : said}")`;
  const what = {
    html: `an HTML page${title}, not with JSON`,
    text: `text${title}, not with JSON`,
    empty: "nothing where JSON was expected",
    json: `JSON that is not the interface's${at === "" ? "" : `, at ${at}`}`,
    "unknown-encoding": "",
  }[came];
  const message = `${url} answered ${came === "unknown-encoding" ? "in a compression that was not asked for" : `with ${what}`}`;
  return new Failure("refused", "reply-unreadable", message, {
    hint: addressAdvice(setting),
    isPage: came === "html",
    ...about,
  });
};

export const replyTooLong = (limitBytes: number, about: About): Failure => {
  const message = `the reply of ${about.http?.url ?? "the service"} is larger than ${limitBytes / 1024 / 1024} MiB`;
  return new Failure("refused", "reply-too-long", message, {
    hint: "no larger one is read: look whether the address is the service's, or fetch it with curl -o",
    ...about,
  });
};

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`;

const after = (tries: number): string => (tries > 1 ? `, ${tries} times` : "");

/** @param askedMs how long it asked to wait, if it did */
export const serviceUnavailable = (
  { status, askedMs, tries }: { status: number; askedMs: number | undefined; tries: number },
  about: About,
): Failure =>
  new Failure("unavailable", "service-unavailable", withSaid(`the service answered ${status}${after(tries)}`, about), {
    hint:
      askedMs === undefined
        ? "try again later; --max-wait says how long is waited"
        : `it asks to wait ${seconds(askedMs)}: try again then, or give a longer --max-wait`,
    ...about,
  });

/** What broke a connection. */
export interface Broken {
  /** The system's or library's code, or one of the client's own. */
  readonly code: string;
  /** Host and port that were tried, and those of the proxy in between. */
  readonly to: string;
  readonly proxy: string | undefined;
  /** The status that the proxy answered with. */
  readonly status: number | undefined;
  /** The time that was allowed, if it ran out. */
  readonly ms: number | undefined;
  readonly tries: number;
  readonly setting: string;
}

export const noConnection = (broken: Broken, about: About = {}): Failure => {
  const { code, to, proxy, setting, tries } = broken;
  const place = proxy === undefined ? to : `${to} through the proxy ${proxy}`;
  return new Failure("unavailable", "no-connection", `${place}: ${troubleWords(broken)}${after(tries)}`, {
    hint: connectionAdvice(code, setting, proxy),
    systemCode: code,
    ended: endWords(broken),
    ...about,
  });
};

/** What a code of the network means for a person: after "host:port". */
const troubles: Readonly<Record<string, string>> = {
  ENOTFOUND: "there is no machine of that name",
  EAI_AGAIN: "the name could not be looked up for now",
  ECONNREFUSED: "nothing listens there",
  ECONNRESET: "the connection was reset",
  EPIPE: "the connection was closed while the request was being sent",
  CUT: "the connection ended before the answer was whole",
  CUT_HEADERS:
    "the connection ended within the headers of the answer; a 100 Continue that was not requested ends it too, and rollcall cannot log to a service that sends it",
  ENDLESS: "the answer did not come to its end in time",
  ETIMEDOUT: "there is no answer from that machine",
  EHOSTUNREACH: "there is no route to that machine",
  ENETUNREACH: "no network leads there",
  ABORTED: "the run was told to stop",
  CERT_HAS_EXPIRED: "its certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another name",
  EPROTO: "it does not speak TLS",
  HPE_HEADER_OVERFLOW: "the headers of its answer are too large",
  ERR_SSL_WRONG_VERSION_NUMBER: "it does not speak TLS",
};

const unknownAuthority = /^(SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_(GET_ISSUER|VERIFY))/;

/** What broke a connection after a request had left, as a sentence. */
const endWords = (broken: Broken): string => {
  if (broken.code === "ABORTED") return "the run was told to stop before the answer came";
  if (broken.code === "SILENT") return `the service was ${troubleWords(broken)}`;
  return troubles[broken.code] === undefined ? `the connection broke (${broken.code})` : troubleWords(broken);
};

const troubleWords = ({ code, status, ms = 0 }: Broken): string => {
  if (code === "SILENT") return `silent for ${seconds(ms)}`;
  if (code === "CONNECT_TIMEOUT") return `no connection within ${seconds(ms)}`;
  if (code === "PROXY_REFUSED") return `the proxy refused the connection (${status ?? "no status"})`;
  if (unknownAuthority.test(code)) return `its certificate is signed by an unknown authority (${code})`;
  if (code === "NOT_HTTP") return "it does not answer in HTTP/1.1";
  if (/^(CUT|CUT_HEADERS|ENDLESS|ABORTED)$/.test(code)) return troubles[code] ?? code;
  return troubles[code] === undefined ? `no connection (${code})` : `${troubles[code]} (${code})`;
};

const connectionAdvice = (code: string, setting: string, proxy: string | undefined): string => {
  if (unknownAuthority.test(code)) return "NODE_EXTRA_CA_CERTS=<file.pem> adds an authority of your own";
  if (code === "PROXY_REFUSED") return `HTTPS_PROXY holds ${proxyAdvice}`;
  if (code === "EPROTO" || code === "ERR_SSL_WRONG_VERSION_NUMBER") return `is ${setting} meant to be http://?`;
  if (code === "NOT_HTTP") return `is ${setting} meant to be https://?`;
  if (code === "SILENT") return "--timeout says how long silence is allowed";
  if (code === "ENDLESS") return "a read may take --max-wait as a whole, the answer to a log twice --timeout";
  const place = setting === "log_base_url" ? "log_base_url, or base_url where that alone is set" : setting;
  return `check ${place}${proxy === undefined ? "" : ", and the proxy variables"}; the same command again is safe`;
};
