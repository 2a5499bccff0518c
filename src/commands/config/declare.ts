/** `rollcall config`: the settings of a profile, never secrets. */
import type { Command } from "commander";
import { settingsSources } from "../../connect.ts";
import type { Context, Start } from "../../context.ts";
import { type Column, type ListView, printDocument, printList } from "../../output/index.ts";
import type { Changed, SettingRow } from "../../settings/index.ts";
import { examples } from "../help.ts";
import { isForProgram } from "../lists/form.ts";

/** Declares `config` and its verbs. */
export const declareConfig = (parent: Command, start: Start): void => {
  const config = parent.command("config").description("read and change the settings of a profile");
  const verb = (name: string, description: string, lines: readonly string[]): Command => {
    const command = config.command(name).description(description);
    examples(command, lines);
    return command;
  };
  const site = "https://api.example.com";
  examples(config, ["rollcall config list", `rollcall config set base_url ${site}`]);
  verb("list", "every setting: its value, and where that comes from", [
    "rollcall config list",
    "rollcall config list --json --fields name,value",
  ]).action(async (_: unknown, command: Command) => await list(start(command)));
  verb("get", "print the value of one setting", ["rollcall config get max_request_size"])
    .argument("<name>", "a setting, such as base_url")
    .action(async (name: string, _: unknown, command: Command) => await get(start(command), { name }));
  verb("set", "save one setting in the profile", [
    `rollcall config set base_url ${site}`,
    "rollcall config set split train --profile work",
  ])
    .argument("<name>", "a setting, such as base_url; config list lists them")
    .argument("<value>", "its value")
    .action(async (name: string, value: string, _: unknown, command: Command) => {
      await set(start(command), { name, value });
    });
  verb("unset", "take settings out of the profile", ["rollcall config unset split batch"])
    .argument("<name...>", "settings, such as split")
    .action(async (names: string[], _: unknown, command: Command) => await unset(start(command), { names }));
  verb("path", "print where the settings are saved", ["rollcall config path"]).action(
    async (_: unknown, command: Command) => await path(start(command)),
  );
  verb("export", "print the profile's settings as one JSON document, without secrets", [
    "rollcall config export > team.json",
  ]).action(async (_: unknown, command: Command) => await exportAll(start(command)));
  verb("import", "save what `config export` printed in the profile: all of it, or nothing", [
    "rollcall config export | rollcall config import - --profile copy",
  ])
    .argument("<file>", "a file, or - for standard input")
    .action(async (from: string, _: unknown, command: Command) => await importAll(start(command), { from }));
};

const list = async (context: Context): Promise<void> => {
  const { listSettings } = await context.settingsRoom();
  const { profile, rows, unknown } = listSettings(settingsSources(context));
  for (const { problem } of rows) if (problem !== undefined) context.screen.warn(problem);
  if (unknown.length > 0) context.screen.notice(`not settings of this version, and kept: ${unknown.join(", ")}`);
  await printList(context.screen, settingsView(profile, rows));
};

/**
 * `{"profile","settings":[{"name","value","source","from","problem"}]}`: value as it was written, source one of "command
 * line", "environment", "profile", "default", from the option, variable or file, problem why the value can't be used;
 * null where there is none.
 */
const settingsView = (profile: string, rows: readonly SettingRow[]): ListView<SettingRow> => ({
  columns: settingColumns,
  rows,
  wire: { bytes: Buffer.from(JSON.stringify({ profile, settings: rows.map(rowDocument) })), member: "settings" },
});

const settingColumns: readonly Column<SettingRow>[] = [
  { name: "name", heading: "setting", rank: 0, cell: ({ name }) => name, value: ({ name }) => name },
  {
    name: "value",
    heading: "value",
    rank: 0,
    cell: ({ value }) => value ?? "",
    value: ({ value }) => value,
    mark: ({ problem }) => (problem === undefined ? undefined : { text: "unusable", tone: "bad" }),
  },
  { name: "source", heading: "source", rank: 2, cell: ({ source }) => source ?? "", value: ({ source }) => source },
  { name: "from", heading: "from", rank: 3, cell: ({ from }) => from ?? "", value: ({ from }) => from },
];

const rowDocument = ({ name, value, source, from, problem }: SettingRow) => ({
  name,
  value: value ?? null,
  source: source ?? null,
  from: from ?? null,
  problem: problem?.message ?? null,
});

/** In JSON the object that `config list` has for it. @throws Failure `setting-missing` where it is not set */
const get = async (context: Context, { name }: { readonly name: string }): Promise<void> => {
  const { showSetting, settingMissing } = await context.settingsRoom();
  const row = showSetting(settingsSources(context), name);
  if (row.value === undefined) throw settingMissing(row.name);
  if (isForProgram(context)) await printDocument(context.screen, rowDocument(row));
  else await context.screen.text(`${row.value}\n`);
};

const set = async (
  context: Context,
  { name, value }: { readonly name: string; readonly value: string },
): Promise<void> => {
  const { setSetting } = await context.settingsRoom();
  tell(context, await setSetting(settingsSources(context), { name, value }));
};

/** Says what was saved, and what will go before it. */
const tell = ({ screen }: Context, { profile, newProfile, file, names, overriding }: Changed): void => {
  const what = names.length === 0 ? "nothing" : names.join(", ");
  screen.notice(`saved in the ${newProfile ? "new " : ""}profile ${profile} (${file}): ${what}`);
  if (overriding.length > 0) screen.notice(`the environment goes before it: ${overriding.join(", ")}`);
  if (names.includes("credential_command")) {
    screen.notice("credential_command is run, as you, whenever a request needs a key");
  }
};

const unset = async (context: Context, { names }: { readonly names: readonly string[] }): Promise<void> => {
  const { unsetSettings } = await context.settingsRoom();
  const { profile, names: removed, absent } = await unsetSettings(settingsSources(context), names);
  if (removed.length > 0) context.screen.notice(`taken out of the profile ${profile}: ${removed.join(", ")}`);
  if (absent.length > 0) context.screen.notice(`was not set in the profile ${profile}: ${absent.join(", ")}`);
};

/** In JSON `{"settings":"…/settings.json"}`. */
const path = async (context: Context): Promise<void> => {
  const { settingsFile } = await context.settingsRoom();
  const settings = settingsFile(context.host);
  if (isForProgram(context)) await printDocument(context.screen, { settings });
  else await context.screen.text(`${settings}\n`);
};

/** Prints an object of settings, whatever form was asked for: what `import` reads. */
const exportAll = async (context: Context): Promise<void> => {
  const { exportSettings } = await context.settingsRoom();
  const { profile, settings, unknown } = exportSettings(settingsSources(context));
  if (unknown.length > 0) context.screen.notice(`not settings of this version, and left out: ${unknown.join(", ")}`);
  if (Object.keys(settings).length === 0) context.screen.notice(`nothing is saved in the profile ${profile}`);
  await context.screen.text(`${JSON.stringify(settings, undefined, 2)}\n`);
};

const importAll = async (context: Context, { from }: { readonly from: string }): Promise<void> => {
  const { importSettings } = await context.settingsRoom();
  tell(context, await importSettings(settingsSources(context), from));
};
