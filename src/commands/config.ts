/** `rollcall config`: the settings of a profile, never secrets. */
import { command, flag, repeated, required, text } from "../cli/index.ts";
import { effectiveSettings, toSettingsSources } from "../connect.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { printDocument } from "../output/index.ts";
import {
  canAsk,
  credentialUses,
  exportSettings,
  findMissingProfile,
  findOrigin,
  findSettingsFile,
  importSettings,
  listProfiles,
  listSettings,
  type SettingRow,
  type SettingsChange,
  setSetting,
  settingMissing,
  showSetting,
  unsetSettings,
  urlSettingNames,
} from "../settings/index.ts";
import { formatCommandLine } from "../shell-words.ts";
import { requireConfirmation } from "./confirm.ts";
import { printObjects } from "./lists/object-list.ts";

const toDocument = ({ problem, ...row }: SettingRow) => ({ ...row, problem: problem?.message ?? null });

const list = command({
  words: "config list",
  about: "every setting: its value, and where that comes from",
  examples: ["rollcall config list", "rollcall config list --json --fields name,value"],
  run: async (context) => {
    const { screen } = context;
    const { profile, rows, unknown } = listSettings(toSettingsSources(context));
    for (const { problem } of rows) if (problem !== null) screen.warn(problem);
    if (unknown.length > 0) screen.notice(`not settings of this version, and kept: ${unknown.join(", ")}`);
    await printObjects(screen, {
      others: { profile },
      member: "settings",
      rows: rows.map(toDocument),
      columns: {
        name: { heading: "setting", rank: 0 },
        value: {
          rank: 0,
          tag: ({ problem }) => (problem === null ? undefined : { text: "unusable", tone: "bad" }),
        },
        source: 2,
        from: 3,
      },
    });
  },
});

/** Prints a document for a program, and a line for a person. */
const printValue = async ({ screen }: Context, document: unknown, line: string): Promise<void> =>
  screen.isForProgram ? await printDocument(screen, document) : await screen.printText(`${line}\n`);

const get = command({
  words: "config get",
  about: "print the value of one setting",
  args: { name: required(text("a setting, such as base_url")) },
  examples: ["rollcall config get max_request_size"],
  run: async (context, { name }) => {
    const { row, profile } = showSetting(toSettingsSources(context), name);
    if (row.value === null) throw settingMissing(row.name, profile);
    await printValue(context, toDocument(row), row.value);
  },
});

const create = flag("make the profile where it is not there");
const exampleUrl = "https://api.example.com";

const set = command({
  words: "config set",
  about: "save one setting in the profile",
  args: {
    name: required(text("a setting, such as base_url; config list lists them")),
    value: required(text("its value")),
  },
  options: { create },
  examples: [`rollcall config set base_url ${exampleUrl}`, "rollcall config set split train --profile work --create"],
  run: async (context, typed) =>
    await saveChange(context, typed, async () => await setSetting(toSettingsSources(context), typed)),
});

/**
 * Saves settings, and says what overrides them. A profile is made only if it is confirmed: its name may be mistyped.
 * @throws Failure `unknown-profile`, `not-confirmed`
 */
const saveChange = async (
  context: Context,
  typed: { readonly create: boolean },
  save: () => Promise<SettingsChange>,
): Promise<void> => {
  const { host, screen } = context;
  const unknown = typed.create ? undefined : findMissingProfile(toSettingsSources(context));
  if (unknown !== undefined) {
    if (!canAsk(host)) throw unknown;
    const what = `there is no profile ${unknown.details.subject}: make it`;
    await requireConfirmation(context, { what, option: "--create", yes: false });
  }
  const { profile, isNew, file, names, overriding } = await save();
  screen.notice(`saved in the ${isNew ? "new " : ""}profile ${profile} (${file}): ${names.join(", ") || "nothing"}`);
  if (overriding.length > 0) screen.notice(`the environment goes before it: ${overriding.join(", ")}`);
  if (names.includes("credential_command")) {
    screen.notice("credential_command is run, as you, whenever a request needs a key");
  }
  await reportUnusableKeys(context, { profile, names });
};

/** Names the uses that no saved key serves at the current addresses: each key goes only to its own origin. */
const reportUnusableKeys = async (
  context: Context,
  { profile, names }: Pick<SettingsChange, "profile" | "names">,
): Promise<void> => {
  const keys = listProfiles(toSettingsSources(context)).find(({ name }) => name === profile)?.keys ?? [];
  if (keys.length === 0 || !urlSettingNames.some((name) => names.includes(name))) return;
  const lackingUses: string[] = [];
  try {
    const settings = await effectiveSettings(context);
    for (const use of credentialUses) {
      const origin = findOrigin(settings, use);
      const state = origin === undefined ? undefined : (await settings.credentialSource(use, origin)).state;
      if (state === "missing" || state === "elsewhere") lackingUses.push(use);
    }
  } catch (thrown) {
    // An invalid setting prevents no change, and is reported when it is used.
    if (thrown instanceof Failure) return;
    throw thrown;
  }
  if (lackingUses.length === 0) return;
  const which = lackingUses.length === 1 ? ["--for", ...lackingUses] : [];
  const where = profile === "default" ? [] : ["--profile", profile];
  const login = formatCommandLine(["rollcall", "auth", "login", ...which, ...where]);
  const why = "a saved key goes only to the address that it was entered for";
  context.screen.notice(`${why}: for ${lackingUses.join(", ")} it must be entered again, with \`${login}\``);
};

const unset = command({
  words: "config unset",
  about: "take settings out of the profile",
  args: { name: required(repeated("settings, such as split")) },
  examples: ["rollcall config unset split batch"],
  run: async (context, typed) => {
    const { profile, names, absent } = await unsetSettings(toSettingsSources(context), typed.name);
    if (names.length > 0) context.screen.notice(`taken out of the profile ${profile}: ${names.join(", ")}`);
    await reportUnusableKeys(context, { profile, names });
    if (absent.length > 0) context.screen.notice(`was not set in the profile ${profile}: ${absent.join(", ")}`);
  },
});

const path = command({
  words: "config path",
  about: "print where the settings are saved",
  examples: ["rollcall config path"],
  run: async (context) => {
    const settings = findSettingsFile(context.host);
    await printValue(context, { settings }, settings);
  },
});

/** Prints an object of settings in any form of output: what `import` reads. */
const exportCommand = command({
  words: "config export",
  about: "print the profile's settings as one JSON document, without secrets",
  examples: ["rollcall config export > team.json"],
  run: async (context) => {
    const { screen } = context;
    const { profile, settings, unknown } = exportSettings(toSettingsSources(context));
    if (unknown.length > 0) screen.notice(`not settings of this version, and left out: ${unknown.join(", ")}`);
    if (Object.keys(settings).length === 0) screen.notice(`nothing is saved in the profile ${profile}`);
    await screen.printText(`${JSON.stringify(settings, undefined, 2)}\n`);
  },
});

const importCommand = command({
  words: "config import",
  about: "save what `config export` printed in the profile: all of it, or nothing",
  args: { file: required(text("a file, or - for standard input")) },
  options: { create },
  examples: ["rollcall config export | rollcall config import - --profile copy --create"],
  run: async (context, typed) =>
    await saveChange(context, typed, async () => await importSettings(toSettingsSources(context), typed.file)),
});

/** `config` and its verbs. */
export const config = command({
  words: "config",
  about: "read and change the settings of a profile",
  examples: ["rollcall config list", `rollcall config set base_url ${exampleUrl}`],
  verbs: [list, get, set, unset, path, exportCommand, importCommand],
});
