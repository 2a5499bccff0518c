/** Shows and changes the settings of a profile. */
import type { Problem, Where } from "../failure.ts";
import { optionsContradict } from "../failures.ts";
import { codeOf } from "../files.ts";
import type { Host } from "../host.ts";
import { nearest } from "../nearest.ts";
import {
  importBroken,
  importRefused,
  importUnreadable,
  settingSecret,
  settingUnknown,
  settingWrong,
} from "./failures.ts";
import {
  findLayers,
  findValue,
  type Layers,
  localProfile,
  resolveSetting,
  type SettingsSources,
  savedText,
} from "./layers.ts";
import { readStdin } from "./login.ts";
import { addTo, changeSaved, type Members, parseDocument } from "./saved.ts";
import { readBounded } from "./secrets.ts";
import {
  type SettingName,
  settingNamed,
  settingNames,
  settings,
  showText,
  type Unparsed,
  variableOf,
} from "./values.ts";

type ChangeSources = Pick<SettingsSources, "host" | "flags" | "warn">;

/** A setting as it is shown: its text, its source, the option, variable or file, and the problem of an invalid one. */
export type SettingRow = ReturnType<typeof toRow>;

/** Every setting, and names in the profile that are not settings of this version. @throws Failure `profile-unknown`, `settings-broken`, `place-unusable` */
export const listSettings = (sources: ChangeSources) => {
  const layers = findLayers(sources);
  const { profile } = layers;
  return { profile, rows: settingNames.map((name) => toRow(layers, name)), unknown: unknownIn(layers) };
};

/** @throws Failure `setting-unknown`, `setting-wrong`, and as `listSettings` */
export const showSetting = (sources: ChangeSources, typed: string) => {
  const name = findSetting(typed);
  const layers = findLayers(sources);
  findValue(layers, name);
  return { row: toRow(layers, name), profile: layers.profile };
};

const toRow = (layers: Layers, name: SettingName) => {
  const found = resolveSetting(layers, name);
  const { text = "", source = null } = found ?? {};
  const where = found?.where() ?? {};
  const parsed = settings[name].parse(text, layers);
  const isValid = found === undefined || parsed.ok;
  const problem: Problem | null = isValid
    ? null
    : { ...positionIn(where), severity: "warning", ...problemOf(name, text, parsed) };
  const from = where.option ?? where.environment ?? where.file ?? null;
  return { name, value: found === undefined ? null : showText(name, text), source, from, problem };
};

type Found = Pick<Problem, "rule" | "message" | "advice">;

const problemOf = (name: SettingName, text: string, { wanted, suggestion }: Unparsed): Found => {
  const correct = `\`rollcall config set ${name} …\`, or correct it where it stands`;
  const advice = suggestion === undefined ? correct : `did you mean ${suggestion}?`;
  return { rule: "setting-wrong", message: `${name} can't be "${showText(name, text)}": it takes ${wanted}`, advice };
};

const positionIn = ({ file, line, column }: Where): Pick<Problem, "file" | "line" | "column"> => ({
  ...(file === undefined ? {} : { file }),
  ...(line === undefined ? {} : { line }),
  ...(column === undefined ? {} : { column }),
});

const unknownIn = ({ saved }: Layers): readonly string[] =>
  Object.keys(saved).filter((name) => settingNamed(name) === undefined);

/** Names that people use for a secret, or for what belongs to one. */
const secretNames = ["api_key", "token", "password", "key", "apikey", "secret", "username"];

/** A name in the spelling of an option or a variable, as that of a setting. */
const toName = (typed: string): string =>
  typed
    .toLowerCase()
    .replaceAll("-", "_")
    .replace(/^rollcall_/, "");

const isSecretName = (name: string): boolean => secretNames.includes(toName(name).replace(/_file$/, ""));

const findSetting = (typed: string): SettingName => {
  const name = settingNamed(typed) ?? settingNamed(toName(typed));
  if (name !== undefined) return name;
  if (isSecretName(typed)) throw settingSecret(typed);
  throw settingUnknown(typed, nearest(typed.replaceAll("-", "_"), settingNames));
};

/** A change of settings; `overriding` are variables of the environment that override it. */
export type Changed = Awaited<ReturnType<typeof setSetting>>;

/** Saves one setting. @throws Failure `setting-unknown`, `setting-wrong`, `options-contradict`, and as `changeSaved` */
export const setSetting = async (
  sources: ChangeSources,
  { name: typed, value: text }: { readonly name: string; readonly value: string },
) => {
  const name = findSetting(typed);
  const layers = findLayers({ ...sources, mayBeNew: true });
  if (layers.local && settings[name].isDeployed) {
    const why = "the local service has its own address and its own key";
    throw optionsContradict({ first: `the profile ${localProfile}`, second: name, why });
  }
  const parsed = settings[name].parse(text, layers);
  if (!parsed.ok) {
    throw settingWrong({ ...parsed, setting: name, value: showText(name, text), where: { setting: name } });
  }
  return await save(sources.host, layers, { [name]: typeof parsed.value === "boolean" ? parsed.value : text });
};

/** Saves the settings of a file, or with `-` of standard input: all or none. @throws Failure `import-…`, and as `changeSaved` */
export const importSettings = async (sources: ChangeSources, from: string) => {
  const layers = findLayers({ ...sources, mayBeNew: true });
  return await save(sources.host, layers, await readImport(sources.host, from, layers));
};

const save = async (host: Host, layers: Layers, added: Members) => {
  const { profile, isNew } = layers;
  const file = await changeSaved(host, "settings", addTo(profile, added));
  const after = { ...layers, saved: added, flags: {} };
  const overriding = settingNames.filter(
    (name) => Object.hasOwn(added, name) && resolveSetting(after, name)?.source === "environment",
  );
  return { profile, isNew, file, names: Object.keys(added), overriding: overriding.map(variableOf) };
};

/** Deletes settings, also those of other versions. Nothing is written if none was set. */
export const unsetSettings = async (sources: ChangeSources, typed: readonly string[]) => {
  const { profile, saved } = findLayers(sources);
  const all = typed.map((name) => (Object.hasOwn(saved, name) ? name : findSetting(name)));
  const names = all.filter((name) => Object.hasOwn(saved, name));
  if (names.length > 0) {
    await changeSaved(sources.host, "settings", (profiles) => {
      const kept = Object.entries(profiles.get(profile) ?? {}).filter(([name]) => !names.includes(name));
      profiles.set(profile, Object.fromEntries(kept));
    });
  }
  return { profile, names, absent: all.filter((name) => !names.includes(name)) };
};

/** The settings of a profile as `importSettings` takes them. @throws Failure `setting-wrong`, and as `listSettings` */
export const exportSettings = (sources: ChangeSources) => {
  const layers = findLayers(sources);
  const { profile, saved } = layers;
  const names = settingNames.filter((name) => saved[name] !== undefined && saved[name] !== null);
  for (const name of names) findValue({ ...layers, flags: {}, env: {} }, name);
  return {
    profile,
    settings: Object.fromEntries(names.map((name) => [name, saved[name]])),
    unknown: unknownIn(layers),
  };
};

/** No settings are larger; a larger file was named by mistake. */
const maxImportBytes = 1024 * 1024;

const readImport = async (host: Host, from: string, layers: Layers): Promise<Members> => {
  const name = from === "-" ? "(standard input)" : from;
  const bytes = await (from === "-" ? readStdin(host, maxImportBytes) : readBounded(from, maxImportBytes, host)).catch(
    (cause: unknown) => {
      host.signal.throwIfAborted();
      throw importUnreadable(name, codeOf(cause), cause);
    },
  );
  if (bytes === undefined) throw importUnreadable(name, "EFBIG");
  const { members, where } = parseDocument(bytes, name, importBroken);
  const problems = Object.entries(members).flatMap(([key, value]): Problem[] => {
    const problem = importProblem(key, value, layers);
    return problem === undefined ? [] : [{ ...positionIn(where([key])), path: [key], severity: "error", ...problem }];
  });
  if (problems.length > 0) throw importRefused(name, problems);
  return members;
};

/** The problem of one member of an import; undefined if it can be saved. It does not show a value that may be secret. */
export const importProblem = (
  key: string,
  value: unknown,
  layers: Pick<Layers, "local" | "windows">,
): Found | undefined => {
  const name = settingNamed(key);
  if (name === undefined && isSecretName(key)) {
    const advice = "take it out of the file, and save it with `rollcall auth login`";
    return { rule: "secret-in-settings", message: `${key} is a secret, not a setting`, advice };
  }
  if (name === undefined) {
    const meant = nearest(key, settingNames);
    const advice = meant === undefined ? "`rollcall config list` names the settings" : `did you mean ${meant}?`;
    return { rule: "setting-unknown", message: `there is no setting ${key}`, advice };
  }
  if (layers.local && settings[name].isDeployed) {
    const advice = "leave it out, or import into another profile: --profile <name>";
    return { rule: "setting-of-service", message: `the local service has its own ${name}`, advice };
  }
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
    const message = `${name} is neither a text nor a number nor true or false`;
    return { rule: "setting-wrong", message, advice: "write it as a text, such as `rollcall config export` does" };
  }
  const text = savedText(value);
  const parsed = settings[name].parse(text, layers);
  return parsed.ok ? undefined : problemOf(name, text, parsed);
};
