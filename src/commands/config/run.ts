/** What the verbs of `rollcall config` do. */

import { settingsInForce, settingsSources } from "../../connect.ts";
import type { Context } from "../../context.ts";
import type { CredentialUse } from "../../contract/endpoint.ts";
import { Failure } from "../../failure.ts";
import { type Column, type ListView, printDocument, printList, textColumn } from "../../output/index.ts";
import {
  addressNames,
  type Changed,
  canAsk,
  credentialUses,
  exportSettings,
  importSettings,
  listProfiles,
  listSettings,
  newProfile,
  originOf,
  type SettingRow,
  setSetting,
  settingMissing,
  settingsFile,
  showSetting,
  unsetSettings,
} from "../../settings/index.ts";
import { commandLine } from "../../shell-words.ts";
import { confirm } from "../confirm.ts";

/** Lists every setting. */
export const list = async (context: Context): Promise<void> => {
  const { profile, rows, unknown } = listSettings(settingsSources(context));
  for (const { problem } of rows) if (problem !== undefined) context.screen.warn(problem);
  if (unknown.length > 0) context.screen.notice(`not settings of this version, and kept: ${unknown.join(", ")}`);
  await printList(context.screen, settingsView(profile, rows));
};

const settingsView = (profile: string, rows: readonly SettingRow[]): ListView<SettingRow> => ({
  columns: settingColumns,
  rows,
  wire: { bytes: Buffer.from(JSON.stringify({ profile, settings: rows.map(rowDocument) })), member: "settings" },
});

const settingColumns: readonly Column<SettingRow>[] = [
  textColumn("name", { heading: "setting", rank: 0, text: ({ name }) => name }),
  {
    ...textColumn("value", { rank: 0, text: ({ value }) => value }),
    mark: ({ problem }) => (problem === undefined ? undefined : { text: "unusable", tone: "bad" }),
  },
  textColumn("source", { rank: 2, text: ({ source }) => source }),
  textColumn("from", { rank: 3, text: ({ from }) => from }),
];

const rowDocument = ({ name, value, source, from, problem }: SettingRow) => ({
  name,
  value: value ?? null,
  source: source ?? null,
  from: from ?? null,
  problem: problem?.message ?? null,
});

/** In JSON the object that `config list` has for it. @throws Failure `setting-missing` where it is not set */
export const get = async (context: Context, { name }: { readonly name: string }): Promise<void> => {
  const row = showSetting(settingsSources(context), name);
  if (row.value === undefined) throw settingMissing(row.name, row.profile);
  if (context.screen.isForProgram) await printDocument(context.screen, rowDocument(row));
  else await context.screen.text(`${row.value}\n`);
};

/** Saves a setting. */
export const set = async (
  context: Context,
  { name, value, create }: { readonly name: string; readonly value: string; readonly create: boolean },
): Promise<void> => {
  await confirmProfile(context, create);
  await tell(context, await setSetting(settingsSources(context), { name, value }));
};

/** A profile is made where somebody says so: it may be mistyped. @throws Failure `profile-unknown`, `not-confirmed` */
const confirmProfile = async (context: Context, create: boolean): Promise<void> => {
  const unknown = create ? undefined : newProfile(settingsSources(context));
  if (unknown === undefined) return;
  if (!canAsk(context.host)) throw unknown;
  const what = `there is no profile ${unknown.data.profile}: make it`;
  await confirm(context, { what, option: "--create", yes: false });
};

/** Says what was saved, and what will go before it. */
const tell = async (context: Context, changed: Changed): Promise<void> => {
  const { screen } = context;
  const { profile, newProfile, file, names, overriding } = changed;
  const what = names.length === 0 ? "nothing" : names.join(", ");
  screen.notice(`saved in the ${newProfile ? "new " : ""}profile ${profile} (${file}): ${what}`);
  if (overriding.length > 0) screen.notice(`the environment goes before it: ${overriding.join(", ")}`);
  if (names.includes("credential_command")) {
    screen.notice("credential_command is run, as you, whenever a request needs a key");
  }
  await tellKeys(context, changed);
};

/** Names the uses that saved keys don't serve at the addresses that are in force now: each goes only where it was entered. */
const tellKeys = async (context: Context, { profile, names }: Pick<Changed, "profile" | "names">): Promise<void> => {
  const keys = listProfiles(settingsSources(context)).find(({ name }) => name === profile)?.keys ?? [];
  if (keys.length === 0 || !addressNames.some((name) => names.includes(name))) return;
  const lacking: CredentialUse[] = [];
  try {
    const settings = await settingsInForce(context);
    for (const use of credentialUses) {
      const origin = originOf(settings, use);
      if (origin === undefined) continue;
      const { state } = await settings.credentialSource(use, origin);
      if (state === "missing" || state === "elsewhere") lacking.push(use);
    }
  } catch (thrown) {
    // What else is wrong with the settings keeps nothing from being saved, and is told where it is used.
    if (thrown instanceof Failure) return;
    throw thrown;
  }
  if (lacking.length === 0) return;
  const [only] = lacking;
  const login = [
    ...["rollcall", "auth", "login"],
    ...(lacking.length === 1 && only !== undefined ? ["--for", only] : []),
    ...(profile === "default" ? [] : ["--profile", profile]),
  ];
  context.screen.notice(
    `a saved key goes only to the address that it was entered for: for ${lacking.join(", ")} it must be entered again, with \`${commandLine(login)}\``,
  );
};

/** Takes settings out of the profile. */
export const unset = async (context: Context, { names }: { readonly names: readonly string[] }): Promise<void> => {
  const { profile, names: removed, absent } = await unsetSettings(settingsSources(context), names);
  if (removed.length > 0) context.screen.notice(`taken out of the profile ${profile}: ${removed.join(", ")}`);
  await tellKeys(context, { profile, names: removed });
  if (absent.length > 0) context.screen.notice(`was not set in the profile ${profile}: ${absent.join(", ")}`);
};

/** Prints where the settings are saved. */
export const path = async (context: Context): Promise<void> => {
  const settings = settingsFile(context.host);
  if (context.screen.isForProgram) await printDocument(context.screen, { settings });
  else await context.screen.text(`${settings}\n`);
};

/** Prints an object of settings, whatever form was asked for: what `import` reads. */
export const exportAll = async (context: Context): Promise<void> => {
  const { profile, settings, unknown } = exportSettings(settingsSources(context));
  if (unknown.length > 0) context.screen.notice(`not settings of this version, and left out: ${unknown.join(", ")}`);
  if (Object.keys(settings).length === 0) context.screen.notice(`nothing is saved in the profile ${profile}`);
  await context.screen.text(`${JSON.stringify(settings, undefined, 2)}\n`);
};

/** Saves what `config export` printed. */
export const importAll = async (
  context: Context,
  { from, create }: { readonly from: string; readonly create: boolean },
): Promise<void> => {
  await confirmProfile(context, create);
  await tell(context, await importSettings(settingsSources(context), from));
};
