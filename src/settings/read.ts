/** Reads the settings in force for one run. */

import { resolve } from "node:path";
import type { Failure } from "../failure.ts";
import { requireOwn } from "../files.ts";
import type { Host } from "../host.ts";
import { openCredentials } from "./credentials.ts";
import { placeMissing, settingUnset } from "./failures.ts";
import { dataFolder } from "./files.ts";
import { type DatabaseCommand, ledgerPlace, storePlace } from "./ledger-place.ts";
import { withoutVersion } from "./parse.ts";
import { chooseProfile, defaultProfile } from "./profile.ts";
import { findText, findValue, type Layers, passedOver } from "./resolve.ts";
import { hideEnvironment, secretVariables } from "./secrets.ts";
import type { ServiceSettings, SettingFlags, Settings, SettingsSources } from "./settings.ts";
import {
  addressNames,
  exampleOf,
  isLocalToo,
  optionOf,
  type SettingName,
  type SettingValues,
  variableOf,
} from "./values.ts";

/**
 * Reads the settings in force. What is wrong with a value is said when the value is used.
 * @throws Failure `profile-unknown`, `options-contradict`, `settings-broken`, `place-unusable`
 */
export const readSettings = async (sources: SettingsSources): Promise<Settings> => {
  const { host, flags, hide, notice, warn, defaults = {}, newProfile = false } = toldOnce(sources);
  hideEnvironment(host.env, hide);
  const layers = chooseProfile({ host, flags, warn, defaults, newProfile });
  if (layers.local) noticeUnused(layers, notice);
  const need = <Name extends SettingName>(name: Name): SettingValues[Name] => {
    const value = findValue(layers, name);
    if (value === undefined) throw settingMissing(name, layers.profile);
    return value;
  };
  const command = (): DatabaseCommand | undefined => {
    const line = findValue(layers, "credential_command");
    if (line === undefined) return undefined;
    return async (about) => {
      const { runCredentialCommand } = await import("./credential-command.ts");
      return await runCredentialCommand(line, { host, ...about, hide });
    };
  };
  return {
    profile: layers.profile,
    local: layers.local,
    get: (name) => findValue(layers, name),
    source: (name) => findText(layers, name)?.source,
    require: need,
    address(of) {
      const name = of === "base" ? "base_url" : (`${of}_base_url` as const);
      const address = need(name);
      noticeAddress(layers, { name, notice });
      return withoutVersion(address);
    },
    ...openCredentials({ host, layers, hide, notice, warn }),
    dataFolder() {
      const folder = dataFolder(host);
      if (folder !== undefined) requireOwn(folder);
      return folder;
    },
    ledgerPlace: (typed) => ledgerPlace({ host, hide, command }, typed),
    storePlace: () => storePlace({ host, hide, command }, flags.store),
    service: () => serviceSettings({ host, flags, hide, need, command }),
  };
};

/** The same sources; each thing is told once, however often a run comes by it. */
export const toldOnce = <Sources extends SettingsSources>(sources: Sources): Sources => ({
  ...sources,
  notice: once(sources.notice, (sentence) => sentence),
  warn: once(sources.warn, (problem) => problem.message),
});

const once = <Told>(tell: (told: Told) => void, nameOf: (told: Told) => string): ((told: Told) => void) => {
  const said = new Set<string>();
  return (told) => {
    if (!said.has(nameOf(told))) tell(told);
    said.add(nameOf(told));
  };
};

/** Says which of the environment's addresses and credentials the local service leaves alone. */
const noticeUnused = ({ env }: Layers, notice: (sentence: string) => void): void => {
  const variables = [
    ...addressNames.map(variableOf),
    ...secretVariables.flatMap((variable) => [variable, `${variable}_FILE`]),
    variableOf("credential_command"),
  ].filter((variable) => env[variable]);
  if (variables.length > 0) notice(`not used with the local service: ${variables.join(", ")}`);
};

/** Says where an address comes from, where that is not what was typed or what the environment says. */
const noticeAddress = (
  layers: Layers,
  { name, notice }: { readonly name: SettingName; readonly notice: (sentence: string) => void },
): void => {
  const variable = passedOver(layers, name);
  if (variable !== undefined) notice(`${variable} is not used: the profile ${layers.profile} has its own address`);
  const source = findText(layers, name)?.source;
  if (
    name === "log_base_url" &&
    layers.flags.base_url !== undefined &&
    source !== "command line" &&
    source !== "default"
  ) {
    const from = source === "environment" ? variableOf(name) : `log_base_url of the profile ${layers.profile}`;
    notice(`trajectories go to the address of ${from}, not to that of --base-url; ${optionOf(name)} names another`);
  }
};

/** Settings that a missing one can be given as on the command line of every command that needs it. */
const withOption: ReadonlySet<SettingName> = new Set(["base_url", "inference_base_url", "project", "split"]);

/** The failure of a setting that is needed and not set: how to set it. */
export const settingMissing = (setting: SettingName, profile: string = defaultProfile): Failure => {
  // Where no log address is set, the main address is what is missing.
  const name = setting === "log_base_url" ? "base_url" : setting;
  return settingUnset({
    setting: name,
    environment: variableOf(name),
    option: withOption.has(name) ? optionOf(name) : undefined,
    example: exampleOf(name),
    local: isLocalToo(name),
    profile: profile === defaultProfile ? undefined : profile,
  });
};

const serviceSettings = ({
  host,
  flags,
  hide,
  need,
  command,
}: {
  readonly host: Host;
  readonly flags: SettingFlags;
  readonly hide: SettingsSources["hide"];
  readonly need: Settings["require"];
  readonly command: () => DatabaseCommand | undefined;
}): ServiceSettings => {
  const dataDir = flags.data_dir === undefined ? dataFolder(host) : resolve(flags.data_dir);
  if (dataDir === undefined) throw placeMissing("data");
  requireOwn(dataDir);
  const key = host.env.ROLLCALL_LOCAL_KEY || undefined;
  if (key !== undefined) hide(key);
  const store = storePlace({ host, hide, command }, flags.store);
  return { dataDir, store, project: need("project"), key, allowHosts: [], maxBodyBytes: need("max_body_size") };
};
