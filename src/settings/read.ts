/** Reads the settings of one run. */
import { resolve } from "node:path";
import type { EndpointHost } from "../contract/endpoint.ts";
import { Failure } from "../failure.ts";
import { requireSafeOwnership } from "../files.ts";
import { credentialUses, findSecretVariables, openCredentials, openVariables } from "./credentials.ts";
import { openLocations } from "./database-locations.ts";
import { folderUnknown } from "./failures.ts";
import { defaultProfile, findLayers, findValue, type Layers, resolveSetting, type SettingsSources } from "./layers.ts";
import { findDataFolder } from "./saved.ts";
import * as values from "./values.ts";

/** The settings of one run. An invalid value is a failure `setting-invalid` when it is used. */
export type Settings = Awaited<ReturnType<typeof readSettings>>;

export type ServiceSettings = Awaited<ReturnType<Settings["service"]>>;

export const readSettings = async (given: SettingsSources) => {
  const [notice, warn] = [tellOnce(given.notice, String), tellOnce(given.warn, ({ message }) => message)];
  const sources = { ...given, notice, warn };
  const { host, flags } = sources;
  const layers = findLayers(sources);
  const { profile, local } = layers;
  if (local) {
    const names = [...values.urlSettingNames.map(values.toVariableName), values.toVariableName("credential_command")];
    const set = [...names.filter((name) => host.env[name]), ...findSecretVariables(host, credentialUses)];
    if (set.length > 0) notice(`not used with the local service: ${set.join(", ")}`);
  }
  const requireSetting = <Name extends values.SettingName>(name: Name): values.SettingValues[Name] => {
    const value = findValue(layers, name);
    if (value === undefined) throw settingMissing(name, profile);
    return value;
  };
  const readVariable = openVariables(host);
  const locations = openLocations(sources, layers, readVariable);
  return {
    profile,
    local,
    get: <Name extends values.SettingName>(name: Name) => findValue(layers, name),
    source: (name: values.SettingName) => resolveSetting(layers, name)?.source,
    require: requireSetting,
    /** Returns the URL of a host of the contract, without a trailing slash. @throws Failure `setting-missing` */
    address(of: EndpointHost): string {
      const url = requireSetting(values.urlSettingName(of));
      noteUrlSource(layers, values.urlSettingName(of), notice);
      // `/v1` is a part of the endpoints' paths.
      return url.replace(/\/v1$/, "");
    },
    ...openCredentials(sources, layers, readVariable),
    /** Returns the folder of rollcall's files; undefined if there is none. @throws Failure `unsafe-ownership` */
    dataFolder(): string | undefined {
      const folder = findDataFolder(host);
      if (folder !== undefined) requireSafeOwnership(folder);
      return folder;
    },
    ...locations,
    async service() {
      const dataDir = flags.data_dir === undefined ? findDataFolder(host) : resolve(flags.data_dir);
      if (dataDir === undefined) throw folderUnknown("data");
      requireSafeOwnership(dataDir);
      const allowHosts: readonly string[] = [];
      // The variable overrides the key in the data folder.
      const key = host.env.ROLLCALL_LOCAL_KEY || undefined;
      const [project, maxBodyBytes] = [requireSetting("project"), requireSetting("max_body_size")];
      return { dataDir, store: await locations.storePlace(), project, key, allowHosts, maxBodyBytes };
    },
  };
};

const tellOnce = <Item>(tell: (item: Item) => void, idOf: (item: Item) => string): ((item: Item) => void) => {
  const ids = new Set<string>();
  return (item) => {
    if (!ids.has(idOf(item))) tell(item);
    ids.add(idOf(item));
  };
};

const noteUrlSource = (layers: Layers, name: values.SettingName, notice: (sentence: string) => void): void => {
  const { env, flags, isNamed, profile } = layers;
  const [variable, source] = [values.toVariableName(name), resolveSetting(layers, name)?.source];
  if (isNamed && env[variable] && (source === "profile" || source === "default")) {
    notice(`${variable} is not used, because the profile ${profile} has its own URL`);
  }
  if (name !== "log_base_url" || flags.base_url === undefined) return;
  if (source !== "environment" && source !== "profile") return;
  const from = source === "environment" ? variable : `log_base_url of the profile ${profile}`;
  notice(`logging to the URL in ${from}, not to --base-url; use ${values.toOptionName(name)} for another URL`);
};

export const settingMissing = (missing: values.SettingName, profile: string = defaultProfile): Failure => {
  // The log URL is by default the main URL.
  const name = missing === "log_base_url" ? "base_url" : missing;
  const { example = "…", hasOption, local } = values.settings[name];
  const inProfile = profile === defaultProfile ? "" : ` --profile ${profile}`;
  const ways = [
    ...(hasOption ? [`pass ${values.toOptionName(name)} ${example}`] : []),
    `set ${values.toVariableName(name)}=${example}`,
    `run \`rollcall config set ${name} ${example}${inProfile}\``,
    ...(local !== undefined || name.endsWith("base_url") ? ["use the local service with --local"] : []),
  ];
  const hint = `${ways.slice(0, -1).join(", ")} or ${ways.at(-1)}`;
  return new Failure("usage", "setting-missing", `${name} is not set`, { hint, where: { setting: name } });
};
