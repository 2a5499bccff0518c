/** Reads the settings of one run. */
import { resolve } from "node:path";
import type { Credential, CredentialUse, EndpointHost } from "../contract/endpoint.ts";
import type { DatabasePlace } from "../database/index.ts";
import type { Failure } from "../failure.ts";
import { requireOwn } from "../files.ts";
import { type CredentialSource, credentialVariables, openCredentials } from "./credentials.ts";
import { placeMissing, settingUnset } from "./failures.ts";
import {
  defaultProfile,
  findLayers,
  findValue,
  type Layers,
  resolveSetting,
  type SettingSource,
  type SettingsSources,
} from "./layers.ts";
import { ledgerPlace, storePlace } from "./places.ts";
import { dataFolder } from "./saved.ts";
import { runCredentialCommand, secretVariables } from "./secrets.ts";
import { addressNames, optionOf, type SettingName, type SettingValues, settings, variableOf } from "./values.ts";

/** What the local service of a run is opened with. */
export interface ServiceSettings {
  readonly dataDir: string;
  /** The location of its store; undefined for the file of the data folder. */
  readonly store: DatabasePlace | undefined;
  /** `team/project` that calls are recorded in. */
  readonly project: string;
  /** `ROLLCALL_LOCAL_KEY`, which overrides the key in the data folder. */
  readonly key: string | undefined;
  readonly allowHosts: readonly string[];
  readonly maxBodyBytes: number;
}

/** The settings of one run. An invalid value is a failure `setting-wrong` when it is used. */
export interface Settings {
  readonly profile: string;
  /** True if the service inside this process is used. */
  readonly local: boolean;
  /** The folder of rollcall's files; undefined if there is none. @throws Failure `place-foreign` */
  dataFolder(): string | undefined;
  /** The typed location of the ledger, or else that of the settings; undefined if there is none. @throws Failure `database-address` */
  readonly ledgerPlace: (typed?: string) => DatabasePlace | undefined;
  /** The location of the local service's store; undefined for the file of its data folder. @throws Failure `database-address` */
  readonly storePlace: () => DatabasePlace | undefined;
  get<Name extends SettingName>(name: Name): SettingValues[Name] | undefined;
  source(name: SettingName): SettingSource | undefined;
  /** @throws Failure `setting-missing` */
  require<Name extends SettingName>(name: Name): SettingValues[Name];
  /** The address of a host of the contract, without a trailing slash or `/v1`. @throws Failure `setting-missing` */
  address(host: EndpointHost): string;
  /**
   * The credential for a use at an origin; the same object each time. After a 401 (`refused`), a `credential_command` runs
   * once more.
   * @throws Failure `auth` if there is none, or if the saved one belongs to another origin; `usage` if it is unusable
   */
  credential(use: CredentialUse, about: { readonly origin: string; readonly refused: boolean }): Promise<Credential>;
  /** Says what `credential` would return, without running a command. @throws Failure `usage` */
  credentialSource(use: CredentialUse, origin: string): Promise<CredentialSource>;
  /** @throws Failure `place-foreign`, `place-missing` */
  service(): ServiceSettings;
}

/** The setting that has the address of a host. */
export const addressOf = (host: EndpointHost) => (host === "base" ? "base_url" : (`${host}_base_url` as const));

/** Reads the settings. @throws Failure `profile-unknown`, `options-contradict`, `settings-broken`, `place-unusable` */
export const readSettings = async (sources: SettingsSources): Promise<Settings> => {
  const told = tellOnce(sources);
  const { host, flags, hide, notice } = told;
  const layers = findLayers(told);
  const { profile, local } = layers;
  if (local) noticeUnused(layers, notice);
  const need: Settings["require"] = (name) => {
    const value = findValue(layers, name);
    if (value === undefined) throw settingMissing(name, profile);
    return value;
  };
  const command = () => {
    const line = findValue(layers, "credential_command");
    if (line === undefined) return undefined;
    return async (about: { readonly use: "ledger" | "store"; readonly origin: string }) =>
      await runCredentialCommand(line, { host, hide, ...about });
  };
  const storeOf = () => storePlace({ host, hide, command }, flags.store);
  return {
    profile,
    local,
    get: (name) => findValue(layers, name),
    source: (name) => resolveSetting(layers, name)?.source,
    require: need,
    address(of) {
      const name = addressOf(of);
      const address = need(name);
      noticeAddress(layers, name, notice);
      // `/v1` is a part of the endpoints' paths.
      return address.replace(/\/v1$/, "");
    },
    ...openCredentials(told, layers),
    dataFolder() {
      const folder = dataFolder(host);
      if (folder !== undefined) requireOwn(folder);
      return folder;
    },
    ledgerPlace: (typed) => ledgerPlace({ host, hide, command }, typed),
    storePlace: storeOf,
    service() {
      const dataDir = flags.data_dir === undefined ? dataFolder(host) : resolve(flags.data_dir);
      if (dataDir === undefined) throw placeMissing("data");
      requireOwn(dataDir);
      const key = host.env.ROLLCALL_LOCAL_KEY || undefined;
      const maxBodyBytes = need("max_body_size");
      return { dataDir, store: storeOf(), project: need("project"), key, allowHosts: [], maxBodyBytes };
    },
  };
};

/** Tells each thing only the first time. */
export const tellOnce = <Sources extends SettingsSources>(sources: Sources): Sources => {
  const told = new Set<string>();
  const once = (sentence: string, tell: () => void): void => {
    if (!told.has(sentence)) tell();
    told.add(sentence);
  };
  return {
    ...sources,
    notice: (sentence) => once(sentence, () => sources.notice(sentence)),
    warn: (problem) => once(problem.message, () => sources.warn(problem)),
  };
};

/** Says which addresses and credentials of the environment the local service ignores. */
const noticeUnused = ({ env }: Layers, notice: SettingsSources["notice"]): void => {
  const names = [...addressNames.map(variableOf), ...credentialVariables(secretVariables)];
  const unused = names.filter((name) => env[name]);
  if (unused.length > 0) notice(`not used with the local service: ${unused.join(", ")}`);
};

/** Says where an address comes from if it is not that of the environment, or not the typed one. */
const noticeAddress = (layers: Layers, name: SettingName, notice: SettingsSources["notice"]): void => {
  const { env, flags, isNamed, profile } = layers;
  const [variable, source] = [variableOf(name), resolveSetting(layers, name)?.source];
  if (isNamed && env[variable] && (source === "profile" || source === "default")) {
    notice(`${variable} is not used: the profile ${profile} has its own address`);
  }
  if (name !== "log_base_url" || flags.base_url === undefined) return;
  if (source !== "environment" && source !== "profile") return;
  const from = source === "environment" ? variable : `log_base_url of the profile ${profile}`;
  notice(`trajectories go to the address of ${from}, not to that of --base-url; ${optionOf(name)} names another`);
};

/** The failure of a setting that is required and not set. */
export const settingMissing = (missing: SettingName, profile: string = defaultProfile): Failure => {
  // The log address is by default the main address.
  const name = missing === "log_base_url" ? "base_url" : missing;
  const { example = "…", hasOption, local } = settings[name];
  const inProfile = profile === defaultProfile ? "" : ` --profile ${profile}`;
  const ways = [
    ...(hasOption ? [`${optionOf(name)} ${example}`] : []),
    `${variableOf(name)}=${example}`,
    `or \`rollcall config set ${name} ${example}${inProfile}\``,
  ];
  const isOptional = local !== undefined || name.endsWith("base_url");
  return settingUnset(name, ways, isOptional);
};
