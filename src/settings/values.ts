/** Every setting (promises.md, "Settings and credentials"): what it is for, what it takes, and what it is where nobody said. */

import {
  type Parsed,
  parseAddress,
  parseBoolean,
  parseCommand,
  parseCompression,
  parseDuration,
  parseHeaderName,
  parseIdempotency,
  parseName,
  parsePrefix,
  parseProject,
  parseSegment,
  parseSize,
} from "./parse.ts";

/** Every setting with its type once resolved. Durations are milliseconds, sizes bytes. */
export interface SettingValues {
  readonly base_url: string;
  readonly inference_base_url: string;
  readonly log_base_url: string;
  readonly analysis_provider: string;
  readonly router_provider: string;
  readonly project: string;
  readonly vendor_prefix: string;
  readonly project_header: string;
  readonly account: string;
  readonly split: string;
  readonly batch: string;
  readonly max_request_size: number;
  readonly timeout: number;
  readonly max_wait: number;
  readonly idempotency: "auto" | "never";
  readonly compress: "none" | "gzip" | "zstd";
  readonly insecure_http: boolean;
  readonly credential_command: string;
  readonly max_body_size: number;
  readonly max_unpacked_size: number;
}

/** Name of a setting, as in the settings file and in `config set`. */
export type SettingName = keyof SettingValues;

interface Surroundings {
  readonly profile: string;
  readonly local: boolean;
  /** The text in force of another setting. */
  text(name: SettingName): string | undefined;
}

interface Setting<Value> {
  /** What it is for, in a few words for help and completion. */
  readonly about: string;
  readonly parse: (text: string, machine: { readonly windows: boolean }) => Parsed<Value>;
  /** The setting that its default is made of. */
  readonly madeOf?: SettingName;
  /** Its text where nobody said one. */
  readonly fallback?: (around: Surroundings) => string | undefined;
  /** A value of its form, where commands need one and nobody can guess it. */
  readonly example?: string;
}

const capitalised = (word: string): string => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`;

const local =
  (text: string) =>
  (around: Surroundings): string | undefined =>
    around.local ? text : undefined;

/** The settings, in the order of promises.md. */
export const settings: { readonly [Name in SettingName]: Setting<SettingValues[Name]> } = {
  base_url: { about: "the service's main address", parse: parseAddress, example: "https://api.example.com" },
  inference_base_url: {
    about: "the address of the models",
    parse: parseAddress,
    example: "https://models.example.com/v1",
  },
  log_base_url: {
    about: "the address that trajectories are logged to",
    parse: parseAddress,
    madeOf: "base_url",
    fallback: (around) => around.text("base_url"),
  },
  analysis_provider: {
    about: "the provider's name of `catalog analysis`",
    parse: parseSegment,
    fallback: local("local"),
    example: "acme",
  },
  router_provider: {
    about: "the provider's name of `catalog router`",
    parse: parseSegment,
    fallback: local("local"),
    example: "acme",
  },
  project: {
    about: "the team/project of calls and usage",
    parse: parseProject,
    fallback: local("local/local"),
    example: "team/project",
  },
  vendor_prefix: { about: "the service's own prefix of field names", parse: parsePrefix, fallback: () => "vendor" },
  project_header: {
    about: "the header that names the project",
    parse: parseHeaderName,
    madeOf: "vendor_prefix",
    fallback: (around) => `${capitalised(around.text("vendor_prefix") ?? "")}-Project`,
  },
  account: { about: "whose trajectories these are", parse: parseName, fallback: (around) => around.profile },
  split: { about: "the data split that is logged to", parse: parseName, example: "train" },
  batch: { about: "what tells equal groups of different steps apart", parse: parseName },
  max_request_size: { about: "the largest log request", parse: parseSize, fallback: () => "32MiB" },
  timeout: {
    about: "the longest silence of the service (30s, for log 5m)",
    parse: (text) => parseDuration(text, 1),
  },
  max_wait: { about: "the bound of all retries together", parse: (text) => parseDuration(text), fallback: () => "5m" },
  idempotency: {
    about: "whether log requests are made safe to repeat: auto or never",
    parse: parseIdempotency,
    fallback: () => "auto",
  },
  compress: {
    about: "how log requests are compressed: none, gzip or zstd",
    parse: parseCompression,
    fallback: () => "none",
  },
  insecure_http: {
    about: "whether credentials may go over plain http",
    parse: parseBoolean,
    fallback: () => "false",
  },
  credential_command: { about: "the command that prints a key", parse: parseCommand },
  max_body_size: {
    about: "the largest body that the local service takes",
    parse: parseSize,
    fallback: () => "64MiB",
  },
  max_unpacked_size: {
    about: "the most that a packed file or pipe may unpack to",
    parse: parseSize,
    fallback: () => "64GiB",
  },
};

const isSettingName = (name: string): name is SettingName => Object.hasOwn(settings, name);

/** The names of all settings, in their order. */
export const settingNames: readonly SettingName[] = Object.keys(settings).filter(isSettingName);

/** The setting of that name; undefined where there is none. */
export const settingNamed = (name: string): SettingName | undefined => (isSettingName(name) ? name : undefined);

/** A value as it would be typed; undefined where no command asks for one. */
export const exampleOf = (name: SettingName): string | undefined => settings[name].example;

/** Whether the local service needs no such setting. */
export const isLocalToo = (name: SettingName): boolean =>
  isAddress(name) || name.endsWith("_provider") || name === "project";

/** What a setting is for, in a few words. */
export const describeSetting = (name: SettingName): string => settings[name].about;

/** The three addresses, which belong to a profile together with its credentials. */
export const addressNames = ["base_url", "inference_base_url", "log_base_url"] as const;

/** Whether a setting is one of the addresses. */
export const isAddress = (name: SettingName): boolean => addressNames.some((address) => address === name);

/** The variable of the environment that a setting is read from. */
export const variableOf = (name: SettingName): string => `ROLLCALL_${name.toUpperCase()}`;

/** The option of the command line that a setting is read from, where a command has it. */
export const optionOf = (name: SettingName): string => `--${name.replaceAll("_", "-")}`;
