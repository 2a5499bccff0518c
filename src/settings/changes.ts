/** Changes what is saved: sets and takes away settings of a profile, exports and imports them. */

import type { Problem } from "../failure.ts";
import { optionsContradict } from "../failures.ts";
import { codeOf } from "../files.ts";
import type { Host } from "../host.ts";
import { nearest } from "../nearest.ts";
import { readStdin } from "./ask.ts";
import { importBroken, importRefused, importUnreadable } from "./failures.ts";
import { type Members, parseDocument } from "./files.ts";
import { isSecretName, settingCalled } from "./list.ts";
import { chooseProfile, localProfile } from "./profile.ts";
import {
  belongsToProfile,
  findText,
  type Layers,
  problemPlace,
  savedText,
  valueWrong,
  wrongProblem,
} from "./resolve.ts";
import { readBounded } from "./secrets.ts";
import type { SettingsSources } from "./settings.ts";
import { type SettingName, settingNamed, settingNames, settings, variableOf } from "./values.ts";

type ChangeSources = Pick<SettingsSources, "host" | "flags" | "warn">;

/** What was changed, and where. */
export interface Changed {
  readonly profile: string;
  readonly newProfile: boolean;
  readonly file: string;
  readonly names: readonly string[];
  /** Variables of the environment that go before what was saved. */
  readonly overriding: readonly string[];
}

/** Saves one setting. @throws Failure `setting-unknown`, `setting-wrong`, and as `changeProfile` */
export const setSetting = async (
  sources: ChangeSources,
  { name: typed, value }: { readonly name: string; readonly value: string },
): Promise<Changed> => {
  const name = settingCalled(typed);
  const layers = chooseProfile({ ...sources, newProfile: true });
  return await save(sources.host, layers, { [name]: savable(layers, name, value) });
};

/** Saves what a file, or with `-` standard input, holds: all of it, or nothing. @throws Failure `import-…`, and as `changeProfile` */
export const importSettings = async (sources: ChangeSources, from: string): Promise<Changed> => {
  const layers = chooseProfile({ ...sources, newProfile: true });
  return await save(sources.host, layers, await readImport(sources.host, { from, layers }));
};

const save = async (host: Host, layers: Layers, added: Members): Promise<Changed> => {
  const { profile } = layers;
  const change = (before: Members) => ({ ...before, ...added });
  const { changeProfile } = await import("./write.ts");
  const file = await changeProfile(host, { kind: "settings", profile, change });
  const names = Object.keys(added);
  return {
    profile,
    newProfile: layers.isNew,
    file,
    names,
    overriding: names.flatMap((name) => {
      const setting = settingNamed(name);
      if (setting === undefined) return [];
      const source = findText({ ...layers, saved: added, flags: {} }, setting)?.source;
      return source === "environment" ? [variableOf(setting)] : [];
    }),
  };
};

/** A typed value as it is saved. @throws Failure `setting-wrong` */
const savable = (layers: Layers, name: SettingName, text: string): unknown => {
  if (layers.local && belongsToProfile(name)) {
    const why = "the local service has its own address and its own key";
    throw optionsContradict({ first: `the profile ${localProfile}`, second: name, why });
  }
  const parsed = settings[name].parse(text, layers);
  if (parsed.ok) return typeof parsed.value === "boolean" ? parsed.value : text;
  throw valueWrong({ name, text, where: { setting: name }, parsed });
};

/** Takes settings away; also ones that only another version knows. Nothing is written where none was set. */
export const unsetSettings = async (
  sources: ChangeSources,
  typed: readonly string[],
): Promise<Pick<Changed, "profile" | "names"> & { readonly absent: readonly string[] }> => {
  const { profile, saved } = chooseProfile(sources);
  const all = typed.map((name) => (Object.hasOwn(saved, name) ? name : settingCalled(name)));
  const names = all.filter((name) => Object.hasOwn(saved, name));
  const change = (before: Members) =>
    Object.fromEntries(Object.entries(before).filter(([name]) => !names.includes(name)));
  if (names.length > 0) {
    const { changeProfile } = await import("./write.ts");
    await changeProfile(sources.host, { kind: "settings", profile, change });
  }
  return { profile, names, absent: all.filter((name) => !names.includes(name)) };
};

/** What is saved in a profile, fit to be imported elsewhere. @throws Failure `setting-wrong`, `profile-unknown`, `settings-broken` */
export const exportSettings = (
  sources: ChangeSources,
): { readonly profile: string; readonly settings: Members; readonly unknown: readonly string[] } => {
  const layers = chooseProfile(sources);
  const names = settingNames.filter((name) => layers.saved[name] !== undefined && layers.saved[name] !== null);
  for (const name of names) {
    const text = savedText(layers.saved[name]);
    const parsed = settings[name].parse(text, layers);
    const where = { setting: name, ...layers.where(name) };
    if (!parsed.ok) throw valueWrong({ name, text, where, parsed, profile: layers.profile });
  }
  return {
    profile: layers.profile,
    settings: Object.fromEntries(names.map((name) => [name, layers.saved[name]])),
    unknown: Object.keys(layers.saved).filter((name) => settingNamed(name) === undefined),
  };
};

/** More than any settings have; a file that is larger was named by mistake. */
const longestBytes = 1024 * 1024;

/**
 * The settings in a file, or with `-` in standard input.
 * @throws Failure `import-unreadable`, `import-broken`, `import-refused` with a problem for each setting that can't be used
 */
const readImport = async (
  host: Host,
  { from, layers }: { readonly from: string; readonly layers: Layers },
): Promise<Members> => {
  const name = from === "-" ? "(standard input)" : from;
  const bytes = from === "-" ? await readStdin(host, longestBytes) : await readFile(from, host);
  if (bytes === undefined) throw importUnreadable({ from: name, code: "EFBIG" });
  const document = parseDocument(bytes, name, importBroken);
  const problems = Object.entries(document.members).flatMap(([key, value]): Problem[] => {
    const wrong = importProblem(key, value, layers);
    return wrong === undefined
      ? []
      : [{ ...problemPlace(document.where([key])), path: [key], severity: "error", ...wrong }];
  });
  if (problems.length > 0) throw importRefused(name, problems);
  return document.members;
};

const readFile = async (file: string, host: Host): Promise<Buffer | undefined> =>
  await readBounded(file, { host, longest: longestBytes }).catch((cause: unknown) => {
    host.signal.throwIfAborted();
    throw importUnreadable({ from: file, code: codeOf(cause), cause });
  });

/** What is wrong with one member of an import; undefined where it can be saved. The value of what may be secret is never told. */
export const importProblem = (
  key: string,
  value: unknown,
  layers: Pick<Layers, "local" | "windows">,
): Pick<Problem, "rule" | "message" | "advice"> | undefined => {
  const name = settingNamed(key);
  if (name === undefined && isSecretName(key)) {
    const advice = "take it out of the file, and save it with `rollcall auth login`";
    return { rule: "secret-in-settings", message: `${key} is a secret, not a setting`, advice };
  }
  if (name === undefined) {
    const meant = nearest(key, settingNames);
    const message = `there is no setting ${key}`;
    const advice = meant === undefined ? "`rollcall config list` names the settings" : `did you mean ${meant}?`;
    return { rule: "setting-unknown", message, advice };
  }
  if (layers.local && belongsToProfile(name)) {
    const advice = "leave it out, or import into another profile: --profile <name>";
    return { rule: "setting-of-service", message: `the local service has its own ${name}`, advice };
  }
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
    const message = `${name} is neither a text nor a number nor true or false`;
    return { rule: "setting-wrong", message, advice: "write it as a text, such as `rollcall config export` does" };
  }
  const text = savedText(value);
  const parsed = settings[name].parse(text, layers);
  return parsed.ok ? undefined : wrongProblem({ name, text, parsed });
};
