/** Defines `rollcall config` and `rollcall profile`. */

import { command } from "../cli/command.ts";
import { flag, repeated, required, text } from "../cli/kinds.ts";
import { Failure } from "../failure.ts";
import { checkKeys, printDocument, printObjects } from "../output/list.ts";
import { requireConfirmation } from "../output/prompt.ts";
import {
  deleteProfile,
  findProfile,
  listProfiles,
  listSettings,
  type SettingRow,
  setSetting,
  unsetSettings,
} from "../settings/changes.ts";
import { localProfile } from "../settings/layers.ts";
import { pluralize } from "../text/sentences.ts";

const toDocument = ({ problem, ...row }: SettingRow) => {
  return { ...row, problem: problem?.message ?? null };
};

const list = command({
  words: "config list",
  about: "list the settings with their values and sources",
  examples: ["rollcall config list", "rollcall config list --json --fields name,value"],
  run: async (context) => {
    const { screen } = context;
    const { profile, rows, unknown } = listSettings(context);
    for (const { problem } of rows) if (problem !== null) screen.warn(problem);
    if (unknown.length > 0) screen.noteInResult(`settings unknown to this version, but kept: ${unknown.join(", ")}`);
    const document = { profile, settings: rows.map(toDocument) };
    await printObjects(screen, document, {
      member: "settings",
      columns: [
        { name: "name", heading: "setting", rank: 0 },
        {
          name: "value",
          rank: 0,
          tag: ({ problem }) => (problem === null ? undefined : { text: "invalid", tone: "bad" }),
        },
        { name: "source", rank: 2 },
        { name: "from", rank: 3 },
      ],
    });
  },
});

const exampleUrl = "https://api.example.com";

const set = command({
  words: "config set",
  about: "save one setting in the profile",
  args: {
    name: required(text("setting, such as base_url (`config list` shows all)", "setting")),
    value: required(text("its value", "value")),
  },
  options: { create: flag("create the profile if it does not exist") },
  examples: [`rollcall config set base_url ${exampleUrl}`, "rollcall config set split train --profile work --create"],
  run: async (context, typed) => {
    const { host, screen } = context;
    const { profile, isNew, file, name, overriding } = await setSetting(context, typed, async (failure) => {
      if (!typed.create && !host.terminal.stdin) throw failure;
      const action = `create the profile ${failure.details.subject}`;
      await requireConfirmation(context, { action, option: "--create", yes: typed.create });
    });
    screen.notice(`saved ${name} in the ${isNew ? "new " : ""}profile ${profile} (${file})`);
    if (overriding !== undefined) screen.notice(`environment variables override the saved settings: ${overriding}`);
  },
});

const unset = command({
  words: "config unset",
  about: "delete settings from the profile",
  args: { name: required(repeated("settings, such as split", "setting")) },
  examples: ["rollcall config unset split batch"],
  run: async (context, typed) => {
    const { profile, names, absent } = await unsetSettings(context, typed.name);
    const { screen } = context;
    if (names.length > 0) screen.notice(`deleted from the profile ${profile}: ${names.join(", ")}`);
    if (absent.length > 0) screen.notice(`not set in the profile ${profile}: ${absent.join(", ")}`);
  },
});

export const config = command({
  words: "config",
  about: "read and change the settings of a profile",
  examples: ["rollcall config list", `rollcall config set base_url ${exampleUrl}`],
  subcommands: [list, set, unset],
});

const listSaved = command({
  words: "profile list",
  about: "list the profiles with their URLs and the uses of their keys",
  examples: ["rollcall profile list", "rollcall profile list --json"],
  run: async (context) => {
    const document = { profiles: listProfiles(context).map(({ settings: _, ...row }) => row) };
    await printObjects(context.screen, document, {
      member: "profiles",
      columns: [
        { name: "name", heading: "profile", rank: 0 },
        { name: "in_use", heading: "in use", rank: 0, cell: ({ in_use }) => (in_use ? "yes" : "") },
        { name: "base_url", rank: 1 },
        { name: "keys", heading: "keys for", rank: 1 },
      ],
    });
  },
});

const remove = command({
  words: "profile delete",
  about: "delete the settings and the keys of a profile",
  args: { name: required(text("a profile", "profile")) },
  options: { yes: flag("do not ask for confirmation") },
  examples: ["rollcall profile delete work --yes"],
  run: async (context, { name, yes }) => {
    const { screen } = context;
    checkKeys(screen, ["deleted", "settings", "keys"]);
    if (name === localProfile) {
      const hint = `delete its settings with \`rollcall config unset <setting> --profile ${name}\``;
      const message = `cannot delete the profile ${name}, because ${name} is built in`;
      throw new Failure("usage", "profile-built-in", message, { hint });
    }
    const { settings, keys } = findProfile(context, name);
    const count = (names: readonly string[], noun: string) =>
      names.length === 0 ? `no ${noun}s` : `${pluralize(names.length, noun)} (${names.join(", ")})`;
    const action = `delete the profile "${name}" with ${count(settings, "setting")} and ${count(keys, "key")}`;
    await requireConfirmation(context, { action, option: "--yes", yes });
    await deleteProfile(context, name);
    screen.notice(`deleted the profile ${name}`);
    if (screen.isJson) await printDocument(screen, { deleted: name, settings, keys });
  },
});

export const profile = command({
  words: "profile",
  group: "more",
  about: "list and delete saved profiles",
  examples: ["rollcall profile list", "rollcall profile delete work --yes"],
  subcommands: [listSaved, remove],
});
