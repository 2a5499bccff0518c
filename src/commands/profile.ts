/** Defines `rollcall profile`. */

import { command } from "../cli/command.ts";
import { flag, required, text } from "../cli/kinds.ts";
import { Failure } from "../failure.ts";
import { checkKeys, printDocument, printObjects } from "../output/list.ts";
import { requireConfirmation } from "../output/prompt.ts";
import { deleteProfile, findProfile, listProfiles } from "../settings/changes.ts";
import { localProfile } from "../settings/layers.ts";
import { pluralize } from "../text/sentences.ts";

const list = command({
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
    if (screen.isForProgram) await printDocument(screen, { deleted: name, settings, keys });
  },
});

export const profile = command({
  words: "profile",
  group: "more",
  about: "list and delete saved profiles",
  examples: ["rollcall profile list", "rollcall profile delete work --yes"],
  subcommands: [list, remove],
});
