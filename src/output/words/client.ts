/** The words of what a request to the service can end with. */
import type { About, ReasonData, ReasonsOf } from "../../failure.ts";
import { fieldOf, type Sentences, skipRefused, type Words } from "./sentences.ts";

export const clientWords: Words<ReasonsOf["client"]> = {
  "address-malformed": ({ why }, about) => ({
    message:
      why === "scheme"
        ? `the address in ${settingIn(about)} does not begin with https:// or http://`
        : `the address in ${settingIn(about)} holds a user, a password, a query or a fragment`,
    hint: "give it as https://host/path",
  }),
  "proxy-unusable": ({ variable }) => ({
    message: `${variable} does not name a proxy that can be used`,
    hint: "give it as http://host:port or https://host:port",
  }),
  "path-parameter-unusable": ({ parameter, value }) => ({
    message: `"${value}" can't be a ${parameter.replaceAll("_", " ")}: no address can be made of it`,
  }),
  "header-unusable": ({ what }) => ({
    message: `${what} can't be sent as a header: its name or its value holds a character that no header can carry`,
    hint: "look for a line end and for characters that are not ASCII, in it and in project_header",
  }),
  "credential-over-http": ({ origin }) => ({
    message: `${origin} is plain http: the key would travel in plain text`,
    hint: "use https://, or --insecure-http where that is meant",
  }),
  "compression-missing": ({ form }) => ({
    message: `this Node can't compress with ${form}`,
    hint: "compress with gzip, or run rollcall with Node 22.15 or newer",
  }),
  "credential-refused": refusedWords,
  "nothing-there": ({ operation, setting }, { http }) => ({
    message: withSaid(`could not ${operation}: the service says that there is no such thing (404)`, http?.said),
    hint: `check what was asked for; ${addressAdvice(setting)}`,
  }),
  "address-wrong": ({ operation, setting }, { http }) => ({
    message: withSaid(`could not ${operation}: there is nothing at ${http?.url ?? "the address"} (404)`, http?.said),
    hint: addressAdvice(setting),
  }),
  "request-refused": refusalWords,
  redirected: ({ to, setting }, { http }) => ({
    message: `${http?.url ?? "the address"} redirects to ${to ?? "somewhere else"} (${http?.status ?? "redirect"}), and rollcall follows no redirect`,
    hint: `if that is the service, put its address into ${setting}`,
  }),
  "reply-unreadable": unreadableWords,
  "reply-too-long": ({ limitBytes }, { http }) => ({
    message: `the reply of ${http?.url ?? "the service"} is larger than ${limitBytes / 1024 / 1024} MiB`,
    hint: "no larger one is read: look whether the address is the service's, or fetch it with curl -o",
  }),
  "service-unavailable": ({ status, askedMs, tries }, { http }) => ({
    message: withSaid(`the service answered ${status}${after(tries)}`, http?.said),
    hint:
      askedMs === undefined
        ? "try again later; --max-wait says how long is waited"
        : `it asks to wait ${seconds(askedMs)}: try again then, or give a longer --max-wait`,
  }),
  "no-connection": connectionWords,
};

const settingIn = ({ where }: About): string => where?.setting ?? "the settings";

const withSaid = (sentence: string, said: string | undefined): string =>
  said === undefined ? sentence : `${sentence}: ${said}`;

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`;

const after = (tries: number): string => (tries > 1 ? `, ${tries} times` : "");

const addressAdvice = (setting: string): string =>
  setting === "inference_base_url"
    ? "inference_base_url is what stands before /v1/models"
    : setting === "log_base_url"
      ? "log_base_url (or base_url) is what stands before /v1/preview/models/…/log"
      : "base_url is what stands before /call/read and /inference/…";

function refusedWords({ status, from, project }: ReasonData<"credential-refused">, { http }: About): Sentences {
  if (from === undefined) {
    return {
      message: withSaid(`the service asks for a credential, and this operation has none (${status})`, http?.said),
      hint: "look whether the address is the service's, and whether something stands before it",
    };
  }
  const beside =
    project === undefined ? ", sent without a project" : project === null ? "" : ` and the project ${project}`;
  const other = /^[A-Z_]+$/.test(from)
    ? `${from} goes before what is saved`
    : "`rollcall auth login` saves another key";
  return {
    message: withSaid(`the service refused the credential from ${from}${beside} (${status})`, http?.said),
    hint:
      project === null
        ? `check the key; ${other}`
        : `check the key and the project: a wrong project is answered like a wrong key; ${other}`,
  };
}

/** The status of proxies that ask for a credential of their own. */
const proxyAuthentication = 407;

const proxyAdvice = "the proxy's user and password; NO_PROXY names what goes without it";

function refusalWords({ status, encoding }: ReasonData<"request-refused">, { http, problems = [] }: About): Sentences {
  if (encoding !== undefined) {
    return {
      message: withSaid(`the service takes no requests compressed with ${encoding} (${status})`, http?.said),
      hint: "leave compress off: `--compress none`, or `rollcall config unset compress`",
    };
  }
  const message = `the service refused the request (${status})`;
  const [first] = problems;
  // What it said of each branch of a union was folded to what it means.
  if (first === undefined) {
    return { message: withSaid(message, http?.said), hint: unplacedAdvice(status, http?.said) };
  }
  return {
    message:
      problems.length === 1
        ? `${message}: ${fieldOf(first)}${first.message} [${first.rule}]`
        : `${message}, for ${problems.length} reasons`,
    hint: problems.some(({ line }) => line !== undefined)
      ? `fix what it names; or ${skipRefused}`
      : unplacedAdvice(status, first.message),
  };
}

/** What to do where a service names no place of the input: another request, since it would refuse the same one. */
const unplacedAdvice = (status: number, said: string | undefined): string =>
  status === proxyAuthentication
    ? `a proxy in between asks for a password: HTTP_PROXY holds ${proxyAdvice}`
    : said === undefined
      ? "it does not say why: --debug shows its headers, for whoever runs the service"
      : "it would refuse the same request again: change what it names; --debug shows the request";

/** As much of a page's title, or of a text, as tells what it is. */
const titleOf = (said: string): string => (said.length > 200 ? `${said.slice(0, 200)}…` : said);

function unreadableWords({ came, at, setting }: ReasonData<"reply-unreadable">, { http }: About): Sentences {
  const url = http?.url ?? "the service";
  const title = http?.said === undefined ? "" : ` ("${titleOf(http.said)}")`;
  const what = {
    html: `${url} answered with an HTML page${title}, not with JSON`,
    text: `${url} answered with text${title}, not with JSON`,
    empty: `${url} answered with nothing where JSON was expected`,
    json: `${url} answered with JSON that is not the interface's${at === undefined || at === "" ? "" : `, at ${at}`}`,
    "unknown-encoding": `${url} answered in a compression that was not asked for`,
  }[came];
  return { message: what, hint: addressAdvice(setting) };
}

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

function connectionWords(data: ReasonData<"no-connection">): Sentences {
  const { code, to, proxy, ms, setting, tries } = data;
  const place = proxy === undefined ? to : `${to} through the proxy ${proxy}`;
  return {
    message: `${place}: ${troubleWords(data, ms)}${after(tries)}`,
    hint: connectionAdvice(code, setting, proxy),
  };
}

/** What broke a connection after a request had left, as a sentence. */
export const breakWords = (data: ReasonData<"no-connection">): string =>
  data.code === "SILENT"
    ? `the service was ${troubleWords(data, data.ms)}`
    : data.code === "ABORTED" || troubles[data.code] !== undefined
      ? troubleWords(data, data.ms)
      : `the connection broke (${data.code})`;

const troubleWords = ({ code, status }: ReasonData<"no-connection">, ms: number | undefined): string => {
  if (code === "SILENT") return `silent for ${seconds(ms ?? 0)}`;
  if (code === "CONNECT_TIMEOUT") return `no connection within ${seconds(ms ?? 0)}`;
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
