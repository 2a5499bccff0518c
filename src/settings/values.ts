/** Defines each setting (configuration.md). */

import { type InvalidText, parseDuration, parseSize, reject } from "../text/units.ts";

const parseUrl = (text: string) => {
  if (/[\s\p{Cc}\\]/u.test(text)) return reject("a URL without white space, control characters and backslashes");
  if (!/^https?:\/\//i.test(text)) return reject("a URL that begins with https:// or http://");
  if (!URL.canParse(text)) return reject("a URL such as https://api.example.com");
  if (/^[a-z]+:\/+[^/?#]*@/i.test(text)) return reject("a URL without a user or a password");
  if (/[?#]/.test(text)) return reject("a URL without a query or a fragment");
  const { origin, pathname } = new URL(text);
  return origin + pathname.replace(/\/+$/, "");
};

const redactUrl = (text: string) =>
  text.replace(/^([a-z][a-z0-9+.-]*:)?([/\\]*).*@/is, "$1$2…@").replace(/[?#].*$/s, (rest) => `${rest[0]}…`);

const matchPattern = (pattern: RegExp, wanted: string) => (text: string) =>
  pattern.test(text) ? text : reject(wanted);

const nameForm = "at least one character, no control characters, and no white space at the start or end";
const parseName = matchPattern(/^(?!\s)\P{Cc}+(?<!\s)$/u, nameForm);

const parseSegment = (text: string): string | InvalidText =>
  /^\.{1,2}$|:\/\//.test(text) ? reject("a provider's name") : parseName(text);

const namePart = "[^/\\s\\p{Cc}](?:[^/\\p{Cc}]*[^/\\s\\p{Cc}])?";
export const parseProject = matchPattern(new RegExp(`^${namePart}/${namePart}$`, "u"), "team/project, with one slash");

const reservedHeaders =
  `accept-encoding authorization connection content-encoding content-length content-type cookie host expect idempotency-key
  keep-alive proxy-authorization te trailer transfer-encoding upgrade user-agent`.split(/\s+/);

const parseHeaderName = (text: string) => {
  if (!/^[!#$%&'*+\-.^_`|~0-9a-z]{1,128}$/i.test(text)) return reject("the name of a header, such as Vendor-Project");
  return reservedHeaders.includes(text.toLowerCase()) ? reject("a header that is not reserved") : text;
};

const parseBoolean = (text: string) => {
  if (/^(true|1|yes|on)$/i.test(text)) return true;
  return /^(false|0|no|off)$/i.test(text) ? false : reject("true or false");
};

/** The first word is the default. */
const choiceOf = <const Words extends readonly [string, ...string[]]>(title: string, ...words: Words) => {
  const wanted = words.join(", ").replace(/, (?!.*, )/, " or ");
  const parse = (text: string): Words[number] | InvalidText => words.find((word) => word === text) ?? reject(wanted);
  return { about: `${title}: ${wanted}`, choices: words, parse, fallback: words[0] };
};

type Setting<Value> = Readonly<{
  about: string;
  parse: (text: string) => Value | InvalidText;
  redact?: (text: string) => string;
  derivedFrom?: "base_url" | "vendor_prefix";
  /** The default. `text` is the value of `derivedFrom`. */
  fallback?: string | ((from: { profile: string; text: string }) => string);
  localFallback?: string;
  /** Defaults that the commands have, if the setting itself has none. */
  commandDefaults?: string;
  example?: string;
  choices?: readonly string[];
  /** True if the local service ignores the setting. */
  isOfService?: true;
}>;

const url = { parse: parseUrl, redact: redactUrl, isOfService: true } as const;
const providerOf = (catalog: "analysis" | "router") => {
  const about = `name of the provider of the ${catalog} catalog, in the URL <base_url>/inference/${catalog}/<name>/models`;
  return { about, parse: parseSegment, localFallback: "local" } as const;
};

const definitions = {
  base_url: { ...url, about: "URL of the service", example: "https://api.example.com" },
  inference_base_url: {
    ...url,
    about: "URL of the service that lists the models",
    example: "https://models.example.com/v1",
  },
  log_base_url: { ...url, about: "URL to log trajectories to", derivedFrom: "base_url", fallback: ({ text }) => text },
  analysis_provider: providerOf("analysis"),
  router_provider: providerOf("router"),
  project: {
    about: "project of the calls to read",
    parse: parseProject,
    localFallback: "local/local",
    example: "team/project",
  },
  vendor_prefix: {
    about: "prefix of some field names in calls",
    parse: matchPattern(/^[a-z][a-z0-9_-]{0,63}$/i, "letters, digits, - and _, beginning with a letter"),
    fallback: "vendor",
  },
  project_header: {
    about: "name of the header that contains the project",
    parse: parseHeaderName,
    derivedFrom: "vendor_prefix",
    fallback: ({ text }) => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}-Project`,
  },
  account: { about: "owner of the logged trajectories", parse: parseName, fallback: ({ profile }) => profile },
  split: { about: "data split of the logged groups", parse: parseName, example: "train" },
  batch: { about: "label that distinguishes equal groups of different steps", parse: parseName },
  max_request_size: { about: "largest log request", parse: parseSize, fallback: "32MiB" },
  timeout: {
    about: "longest time without data from the service",
    commandDefaults: "30s (log: 5m)",
    parse: (text: string) => parseDuration(text) || reject("a duration of at least 1ms"),
  },
  max_wait: {
    about: "total time for all retries (if it is not set, a read makes at most 4 attempts in 15 s)",
    parse: parseDuration,
    fallback: "5m",
  },
  idempotency: choiceOf("idempotency keys in log requests", "auto", "never"),
  insecure_http: {
    about: "allow plain http for credentials",
    choices: ["true", "false"],
    parse: parseBoolean,
    fallback: "false",
  },
  max_body_size: { about: "largest body that the local service accepts", parse: parseSize, fallback: "64MiB" },
  max_unpacked_size: { about: "largest content of a compressed input", parse: parseSize, fallback: "64GiB" },
} as const satisfies Readonly<Record<string, Setting<unknown>>>;

export type SettingName = keyof typeof definitions;

/** Durations are in milliseconds, and sizes are in bytes. */
export type SettingValues = {
  readonly [Name in SettingName]: Exclude<ReturnType<(typeof definitions)[Name]["parse"]>, InvalidText>;
};

export const settings: { readonly [Name in SettingName]: Setting<SettingValues[Name]> } = definitions;

export const isSettingName = (name: string): name is SettingName => Object.hasOwn(settings, name);
export const settingNames: readonly SettingName[] = Object.keys(settings).filter(isSettingName);
export const urlSettingNames = ["base_url", "inference_base_url", "log_base_url"] as const;
export const toVariableName = (name: SettingName) => `ROLLCALL_${name.toUpperCase()}`;

export const useTargets = {
  log: { host: "log", command: "`rollcall log`", variables: ["ROLLCALL_TOKEN", "ROLLCALL_API_KEY"] },
  inference: { host: "inference", command: "`rollcall models`", variables: ["ROLLCALL_API_KEY"] },
  calls: { host: "base", command: "`rollcall call read`", variables: ["ROLLCALL_PASSWORD", "ROLLCALL_API_KEY"] },
} as const;

export const redactSetting = (name: SettingName, text: string) => settings[name].redact?.(text) ?? text;
