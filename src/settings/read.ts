/** Reads the settings of one run. */
import { resolve } from "node:path";
import type { EndpointHost } from "../contract/endpoint.ts";
import type { DatabaseLocation } from "../database/index.ts";
import type { Failure } from "../failure.ts";
import { requireSafeOwnership } from "../files.ts";
import { findSecretVariables, openCredentials, runCredentialCommand } from "./credentials.ts";
import { findLedgerLocation, findStoreLocation } from "./database-locations.ts";
import { folderUnknown, settingUnset } from "./failures.ts";
import {
  defaultProfile,
  findLayers,
  findValue,
  type Layers,
  resolveSetting,
  type SettingSource,
  type SettingsSources,
} from "./layers.ts";
import { findDataFolder } from "./saved.ts";
import {
  type SettingName,
  type SettingValues,
  settings,
  toOptionName,
  toVariableName,
  urlSettingNames,
} from "./values.ts";

/** The setting that has the address of a host. */
export const urlSettingName = (host: EndpointHost) => (host === "base" ? "base_url" : (`${host}_base_url` as const));

/** The settings of one run. An invalid value is a failure `setting-invalid` when it is used. */
export type Settings = Awaited<ReturnType<typeof readSettings>>;

/** What the local service of a run is opened with. */
export type ServiceSettings = ReturnType<Settings["service"]>;

/** Reads the settings. @throws Failure `unknown-profile`, `conflicting-options`, `invalid-settings-file`, `inaccessible-file` */
export const readSettings = async (given: SettingsSources) => {
  const sources = {
    ...given,
    notice: tellOnce(given.notice, String),
    warn: tellOnce(given.warn, ({ message }) => message),
  };
  const { host, flags, hide, notice } = sources;
  const layers = findLayers(sources);
  const { profile, local } = layers;
  if (local) noteUnusedVariables(sources);
  const requireSetting = <Name extends SettingName>(name: Name): SettingValues[Name] => {
    const value = findValue(layers, name);
    if (value === undefined) throw settingMissing(name, profile);
    return value;
  };
  const command = () => {
    const line = findValue(layers, "credential_command");
    if (line === undefined) return undefined;
    return (about: { readonly use: "ledger" | "store"; readonly origin: string }) =>
      runCredentialCommand(line, { host, hide, ...about });
  };
  /** Undefined for the file of the data folder. @throws Failure `invalid-database-url` */
  const findStore = (): DatabaseLocation | undefined =>
    findStoreLocation({ host, hide, findCommand: command }, flags.store);
  return {
    profile,
    /** True if the service inside this process is used. */
    local,
    get: <Name extends SettingName>(name: Name) => findValue(layers, name),
    source: (name: SettingName): SettingSource | undefined => resolveSetting(layers, name)?.source,
    /** @throws Failure `setting-missing` */
    require: requireSetting,
    /** The address of a host of the contract, without a trailing slash or `/v1`. @throws Failure `setting-missing` */
    address(of: EndpointHost): string {
      const address = requireSetting(urlSettingName(of));
      noteUrlSource(layers, urlSettingName(of), notice);
      // `/v1` is a part of the endpoints' paths.
      return address.replace(/\/v1$/, "");
    },
    ...openCredentials(sources, layers),
    /** The folder of rollcall's files; undefined if there is none. @throws Failure `unsafe-ownership` */
    dataFolder(): string | undefined {
      const folder = findDataFolder(host);
      if (folder !== undefined) requireSafeOwnership(folder);
      return folder;
    },
    /** The location of the ledger, typed or set; undefined if there is none. @throws Failure `invalid-database-url` */
    ledgerPlace: (typed?: string): DatabaseLocation | undefined =>
      findLedgerLocation({ host, hide, findCommand: command }, typed),
    storePlace: findStore,
    /** @throws Failure `unsafe-ownership`, `folder-unknown` */
    service() {
      const dataDir = flags.data_dir === undefined ? findDataFolder(host) : resolve(flags.data_dir);
      if (dataDir === undefined) throw folderUnknown("data");
      requireSafeOwnership(dataDir);
      // Overrides the key in the data folder.
      const key = host.env.ROLLCALL_LOCAL_KEY || undefined;
      const allowHosts: readonly string[] = [];
      const [project, maxBodyBytes] = [requireSetting("project"), requireSetting("max_body_size")];
      return { dataDir, store: findStore(), project, key, allowHosts, maxBodyBytes };
    },
  };
};

/** Tells each thing only the first time. */
const tellOnce = <Told>(tell: (told: Told) => void, idOf: (told: Told) => string): ((told: Told) => void) => {
  const ids = new Set<string>();
  return (told) => {
    if (!ids.has(idOf(told))) tell(told);
    ids.add(idOf(told));
  };
};

/** Says which addresses and credentials of the environment the local service ignores. */
const noteUnusedVariables = ({ host, notice }: SettingsSources): void => {
  const isSet = (variable: string): boolean => Boolean(host.env[variable]);
  const unused = [
    ...urlSettingNames.map(toVariableName).filter(isSet),
    ...findSecretVariables(host, ["inference", "log", "calls"]),
    ...[toVariableName("credential_command")].filter(isSet),
  ];
  if (unused.length > 0) notice(`not used with the local service: ${unused.join(", ")}`);
};

/** Says where an address comes from if it is not that of the environment, or not the typed one. */
const noteUrlSource = (layers: Layers, name: SettingName, notice: (sentence: string) => void): void => {
  const { env, flags, isNamed, profile } = layers;
  const [variable, source] = [toVariableName(name), resolveSetting(layers, name)?.source];
  if (isNamed && env[variable] && (source === "profile" || source === "default")) {
    notice(`${variable} is not used: the profile ${profile} has its own address`);
  }
  if (name !== "log_base_url" || flags.base_url === undefined) return;
  if (source !== "environment" && source !== "profile") return;
  const from = source === "environment" ? variable : `log_base_url of the profile ${profile}`;
  notice(`trajectories go to the address of ${from}, not to that of --base-url; ${toOptionName(name)} names another`);
};

/** The failure of a setting that is required and not set. */
export const settingMissing = (missing: SettingName, profile: string = defaultProfile): Failure => {
  // The log address is by default the main address.
  const name = missing === "log_base_url" ? "base_url" : missing;
  const { example = "…", hasOption, local } = settings[name];
  const inProfile = profile === defaultProfile ? "" : ` --profile ${profile}`;
  const ways = [
    ...(hasOption ? [`${toOptionName(name)} ${example}`] : []),
    `${toVariableName(name)}=${example}`,
    `or \`rollcall config set ${name} ${example}${inProfile}\``,
  ];
  return settingUnset(name, ways, local !== undefined || name.endsWith("base_url"));
};
