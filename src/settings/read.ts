/** Reads the settings in force for one run. */
import type { EndpointHost } from "../contract/endpoint.ts";
import { Failure } from "../failure.ts";
import { withoutVersion } from "./addresses.ts";
import { credentialOf, environmentSecret } from "./credentials.ts";
import type { ServiceSettings, Settings, SettingsSources } from "./index.ts";
import { dataFolder } from "./places.ts";
import { chooseProfile } from "./profile.ts";
import { findText, type Layers, settingWrong } from "./resolve.ts";
import { hideAll } from "./secrets.ts";
import { optionOf, type SettingName, type SettingValues, settings, variableOf } from "./values.ts";

/** Reads the settings in force. @throws Failure `profile-unknown`, `options-contradict`, `settings-broken`, `place-unusable` */
export const readSettings = async ({ host, flags, hide }: SettingsSources): Promise<Settings> => {
  const layers = chooseProfile({ host, flags });
  const get = <Name extends SettingName>(name: Name): SettingValues[Name] | undefined => {
    const found = findText(layers, name);
    if (found === undefined) return undefined;
    const parsed = settings[name].parse(found.text, { windows: host.platform === "win32" });
    if (!parsed.ok) throw settingWrong({ name, found, profile: layers.profile }, parsed);
    return parsed.value;
  };
  const require = <Name extends SettingName>(name: Name): SettingValues[Name] => {
    const value = get(name);
    if (value === undefined) throw missing(name);
    return value;
  };
  return {
    profile: layers.profile,
    local: layers.local,
    get,
    source: (name) => findText(layers, name)?.source,
    require,
    address: (of) => addressOf(of, require),
    credential: async (use, { origin }) => {
      const secret = await environmentSecret(use, { host, hide });
      if (secret === undefined) throw new Failure("credential-missing", { use, origin, profile: layers.profile });
      return credentialOf(use, secret, host.env.ROLLCALL_USERNAME || undefined);
    },
    get service() {
      return serviceSettings({ env: host.env, dataDir: dataFolder(host), hide, layers, require });
    },
  };
};

const hosts = {
  base: "base_url",
  inference: "inference_base_url",
  log: "log_base_url",
} as const satisfies Record<EndpointHost, SettingName>;

const addressOf = (of: EndpointHost, require: Settings["require"]): string => {
  const address = require(hosts[of]);
  return of === "inference" ? withoutVersion(address) : address;
};

/** Settings that every command takes as an option. */
const withOption: ReadonlySet<SettingName> = new Set([
  "base_url",
  "inference_base_url",
  "log_base_url",
  "project",
  "split",
]);

const missing = (setting: SettingName): Failure<"setting-missing"> => {
  // Where no log address is set, the main address is what is missing.
  const name = setting === "log_base_url" ? "base_url" : setting;
  return new Failure(
    "setting-missing",
    { setting: name, environment: variableOf(name), ...(withOption.has(name) ? { option: optionOf(name) } : {}) },
    { where: { setting: name } },
  );
};

const serviceSettings = ({
  env,
  dataDir,
  hide,
  require,
}: {
  readonly env: SettingsSources["host"]["env"];
  readonly dataDir: string | undefined;
  readonly hide: SettingsSources["hide"];
  readonly layers: Layers;
  readonly require: Settings["require"];
}): ServiceSettings => {
  if (dataDir === undefined) throw new Failure("place-missing", { what: "data", variable: "ROLLCALL_DATA_DIR" });
  const key = env.ROLLCALL_LOCAL_KEY || undefined;
  if (key !== undefined) hideAll(hide, key, "api");
  return { dataDir, project: require("project"), key, allowHosts: [], maxBodyBytes: require("max_body_size") };
};
