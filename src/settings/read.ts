/** Reads the settings of one run. */
import { join, resolve } from "node:path";
import type { DatabaseLocation } from "../database/database.ts";
import { Failure } from "../failure.ts";
import { requireSafeOwnership } from "../system/files.ts";
import { decodePercent } from "../system/host.ts";
import { inProfile, toOptionName } from "../text/sentences.ts";
import { type EndpointHost, urlSettingName } from "../wire/contract/endpoint.ts";
import * as credentials from "./credentials.ts";
import { folderUnknown } from "./failures.ts";
import {
  findLayers,
  type Layers,
  readValue,
  resolveSetting,
  type SettingSource,
  type SettingsSources,
} from "./layers.ts";
import { type FolderHost, findDataFolder } from "./saved-files.ts";
import * as values from "./values.ts";

/** Reading an invalid value throws `setting-invalid`. */
export interface Settings extends EffectiveValues, credentials.Credentials {
  /** @param typed a path or URL of the command line. @throws Failure `invalid-database-url` */
  readonly ledgerLocation: (typed?: string) => Promise<DatabaseLocation>;
  /** @throws Failure `store-not-a-file` */
  readonly service: () => Promise<ServiceSettings>;
}

interface EffectiveValues extends Pick<Layers, "profile" | "local"> {
  readonly get: <Name extends values.SettingName>(name: Name) => values.SettingValues[Name] | undefined;
  readonly source: (name: values.SettingName) => SettingSource | undefined;
  /** @throws Failure `setting-missing` */
  readonly require: <Name extends values.SettingName>(name: Name) => values.SettingValues[Name];
  /** One error names all missing settings of the effective service. @throws Failure `setting-missing` */
  readonly requireAll: (names: readonly values.SettingName[]) => void;
  /** Returns the URL without a final `/v1` or slash. @throws Failure `setting-missing` */
  readonly serviceUrl: (of: EndpointHost) => string;
}

/** Of the local service. Without `store`, its store is in `dataDir`. Without `key`, it has its own key. */
export type ServiceSettings = Readonly<
  Record<"dataDir" | "project", string> & Record<"store" | "key", string | undefined> & { maxBodyBytes: number }
>;

export const readSettings = async (given: SettingsSources): Promise<Settings> => {
  const { hideSecret, notice: tell, warn } = given.screen;
  const notice = tellOnce(tell);
  const sources = { ...given, screen: { hideSecret, notice, warn: tellOnce(warn) } };
  const layers = findLayers(sources);
  const context = { ...sources, layers, readVariable: credentials.openVariables(sources.host) };
  return { ...openValues(context), ...credentials.openCredentials(context), ...openLocations(context) };
};

const requireSetting = <Name extends values.SettingName>(layers: Layers, name: Name) => {
  const value = readValue(layers, name);
  if (value === undefined) throw settingMissing([name], layers.profile);
  return value;
};

const openValues = ({ layers, screen: { notice } }: credentials.SettingsContext): EffectiveValues => ({
  profile: layers.profile,
  local: layers.local,
  get: (name) => readValue(layers, name),
  source: (name) => resolveSetting(layers, name)?.source,
  require: (name) => requireSetting(layers, name),
  requireAll(names) {
    const needed = layers.local ? names.filter((name) => !values.settings[name].isOfService) : names;
    const missing = needed.filter((name) => readValue(layers, name) === undefined);
    if (missing.length > 0) throw settingMissing(missing, layers.profile);
  },
  serviceUrl(of) {
    const name = urlSettingName(of);
    const url = requireSetting(layers, name);
    noteUrlSource(layers, name, notice);
    // Some endpoints have `/v1` in their own paths.
    return url.replace(/\/v1$/, "");
  },
});

const tellOnce = <Item>(tell: (item: Item) => void): ((item: Item) => void) => {
  const told = new Set<string>();
  return (item) => {
    const id = JSON.stringify(item);
    if (!told.has(id)) tell(item);
    told.add(id);
  };
};

const noteUrlSource = (layers: Layers, name: values.SettingName, notice: (sentence: string) => void) => {
  const { flags, profile } = layers;
  const source = resolveSetting(layers, name)?.source;
  if (name !== "log_base_url" || flags.base_url === undefined) return;
  if (source !== "environment" && source !== "profile") return;
  const from = source === "environment" ? values.toVariableName(name) : `log_base_url of the profile ${profile}`;
  notice(`logging to the URL in ${from}, not to --base-url. Use --log-base-url for another URL`);
};

export const setCommand = (name: values.SettingName, profile: string) =>
  inProfile(`rollcall config set ${name} ${values.settings[name].example ?? "<value>"}`, profile);

export const settingMissing = (missing: readonly values.SettingName[], profile: string, canBeLocal = true) => {
  // By default, the log URL is the base URL.
  const names = missing.map((name) => (name === "log_base_url" ? "base_url" : name));
  const exampleOf = (name: values.SettingName) => values.settings[name].example ?? "<value>";
  const variables = names.map((name) => `${values.toVariableName(name)}=${exampleOf(name)}`);
  const commands = names.map((name) => `\`${setCommand(name, profile)}\``);
  const isLocal = names.some((name) => values.settings[name].localFallback || name.endsWith("base_url"));
  const ways = [
    `pass ${names.map((name) => `${toOptionName(name)} ${exampleOf(name)}`).join(" ")}`,
    `set ${variables.join(" and ")}`,
    `run ${commands.join(" and ")}`,
    canBeLocal && isLocal && "use the local service with --local",
  ];
  const about = names.map((name) => `${name}${names.length > 1 ? "" : " is not set"} (${values.settings[name].about})`);
  const message = names.length > 1 ? `settings are missing: ${about.join(", ")}` : about.join("");
  const where = names.length === 1 && names[0] ? { where: { setting: names[0] } } : {};
  return new Failure("usage", "setting-missing", message, { hint: ways.filter(Boolean).join(", or "), ...where });
};

export const findLedgerFile = (host: FolderHost) => {
  const folder = findDataFolder(host);
  if (host.env.ROLLCALL_LEDGER) return resolve(host.env.ROLLCALL_LEDGER);
  return folder && join(folder, "ledger.db");
};

type Locations = Pick<Settings, "ledgerLocation" | "service">;

const openLocations = (context: credentials.SettingsContext): Locations => {
  const { host, flags, layers } = context;
  return {
    ledgerLocation: async (typed) => await findLedgerLocation(context, typed),
    async service() {
      const dataDir = flags.data_dir === undefined ? findDataFolder(host) : resolve(flags.data_dir);
      if (!dataDir) throw folderUnknown("data");
      requireSafeOwnership(dataDir);
      const key = host.env.ROLLCALL_LOCAL_KEY?.trim() || undefined;
      const project = requireSetting(layers, "project");
      const maxBodyBytes = requireSetting(layers, "max_body_size");
      const store = flags.store ?? (host.env.ROLLCALL_STORE || undefined);
      if (store !== undefined && urlPattern.test(store.trim())) {
        // The URL can contain a password.
        const message = "the store of the local service must be a file, but its location is a URL";
        throw new Failure("usage", "store-not-a-file", message, { hint: "pass a path with --store or ROLLCALL_STORE" });
      }
      return { dataDir, store, project, key, maxBodyBytes };
    },
  };
};

const findLedgerLocation = async (
  { host, screen: { hideSecret: hide }, readVariable }: credentials.SettingsContext,
  typed: string | undefined,
): Promise<DatabaseLocation> => {
  const readText = async () => (await readVariable("ROLLCALL_LEDGER"))?.text.trim();
  const text = typed?.trim() ?? (await readText());
  const file = typed ?? findLedgerFile(host);
  if (text === undefined || !urlPattern.test(text)) {
    if (file !== undefined) return { path: file };
    const hint = "pass --ledger <file>, or set ROLLCALL_DATA_DIR";
    const message = "cannot locate the ledger because the home folder is unknown";
    throw new Failure("storage", "ledger-location-missing", message, { hint });
  }
  const parsed = parseDatabaseUrl(text);
  if (!parsed) {
    const inPassword = typed === undefined ? ". In the password, write %2F for /, %3F for ? and %23 for #" : "";
    const hint = `write a path, or postgres://user@host/database (with a user, and no parameter except sslmode)${inPassword}`;
    // Any part of an invalid URL may be a password.
    throw new Failure("usage", "invalid-database-url", "the URL of the ledger is invalid", { hint });
  }
  const path = parsed.url.href;
  // A typed URL can use the password of the same URL in the environment.
  const fromEnvironment = typed === undefined ? parsed : parseDatabaseUrl((await readText()) ?? "");
  for (const secret of [parsed.secret, fromEnvironment?.secret ?? ""]) {
    hide(secret);
    hide(encodeURIComponent(secret));
  }
  if (typed !== undefined && parsed.secret !== "") {
    const hint = "pass the URL without the password, and store the password in PGPASSWORD or ROLLCALL_LEDGER";
    throw new Failure("usage", "invalid-database-url", `the URL of the ledger contains a password: ${path}`, { hint });
  }
  const password = (fromEnvironment?.url.href === path ? fromEnvironment.secret : "") || host.env.PGPASSWORD;
  hide(password ?? "");
  return password ? { path, password } : { path };
};

/** Also matches incomplete URLs and connection strings. All other texts are paths. */
const urlPattern = /^[a-z][a-z\d+.-]+:[/\\]|^(?:postgres(?:ql)?|libsql):|^https?:.*@|(?:^|\s)(?:host|password)\s*=/i;

const parseDatabaseUrl = (text: string) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.hash !== "" || !/^postgres(ql)?:$/.test(url.protocol)) return undefined;
  // An unencoded / or ? in a password ends the host of the URL.
  const isPlain = url.username !== "" && /^\/?[^/@]*$/.test(url.pathname);
  if (!isPlain || [...url.searchParams.keys()].some((key) => key !== "sslmode")) return undefined;
  const secret = decodePercent(url.password);
  url.password = "";
  return { url, secret };
};
