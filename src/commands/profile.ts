/** `rollcall profile`: the profiles that are saved. */
import { command, flag, required, text } from "../cli/index.ts";
import { toSettingsSources } from "../connect.ts";
import { printDocument } from "../output/index.ts";
import { deleteProfile, describeProfile, listProfiles, renameProfile, useProfile } from "../settings/index.ts";
import { requireConfirmation } from "./confirm.ts";
import { printObjects } from "./lists/object-list.ts";

const list = command({
  words: "profile list",
  about: "every profile, its address and what it has keys for",
  examples: ["rollcall profile list", "rollcall profile list --json"],
  run: async (context) =>
    await printObjects(context.screen, {
      member: "profiles",
      rows: listProfiles(toSettingsSources(context)),
      columns: {
        name: { heading: "profile", rank: 0 },
        in_use: { heading: "in use", rank: 0, text: ({ in_use }) => (in_use ? "yes" : "") },
        base_url: 1,
        keys: { heading: "keys for", rank: 1 },
      },
    }),
});

const use = command({
  words: "profile use",
  about: "use a profile wherever none is named",
  args: { name: required(text("a profile; profile list lists them")) },
  examples: ["rollcall profile use work", "rollcall profile use default"],
  run: async (context, { name }) => {
    const { screen, host } = context;
    await useProfile(toSettingsSources(context), name);
    screen.notice(`the profile ${name} is used wherever none is named`);
    const { ROLLCALL_PROFILE: other } = host.env;
    if (other) screen.notice(`ROLLCALL_PROFILE is set, and goes before it: ${other}`);
    if (screen.isForProgram) await printDocument(screen, { profile: name });
  },
});

const remove = command({
  words: "profile delete",
  about: "forget the settings and the keys of a profile",
  args: { name: required(text("a profile")) },
  options: { yes: flag("do not ask") },
  examples: ["rollcall profile delete work --yes"],
  run: async (context, { name, yes }) => {
    const { screen } = context;
    const sources = toSettingsSources(context);
    const { settings, keys } = describeProfile(sources, name);
    const parts = [
      ...(settings.length === 0 ? [] : [`its settings (${settings.join(", ")})`]),
      ...(keys.length === 0 ? [] : [`its keys for ${keys.join(", ")}`]),
    ];
    const what = `delete the profile ${[name, parts.join(" and ")].filter((part) => part !== "").join(" with ")}`;
    await requireConfirmation(context, { what, option: "--yes", yes });
    const { wasInUse } = await deleteProfile(sources, name);
    screen.notice(`the profile ${name} is deleted`);
    if (wasInUse) screen.notice("the profile default is used again wherever none is named");
    if (screen.isForProgram) await printDocument(screen, { deleted: name, settings, keys });
  },
});

const rename = command({
  words: "profile rename",
  about: "give a profile another name; what it logged stays known",
  args: { from: required(text("a profile")), to: required(text("its new name")) },
  examples: ["rollcall profile rename work staging"],
  run: async (context, { from, to }) => {
    const { screen } = context;
    const { account } = await renameProfile(toSettingsSources(context), { from, to });
    screen.notice(`the profile ${from} is now called ${to}`);
    screen.notice(`its account stays ${account}, so that what it logged stays known`);
    if (screen.isForProgram) await printDocument(screen, { from, to, account });
  },
});

/** `profile` and its verbs. */
export const profile = command({
  words: "profile",
  about: "the profiles that are saved: settings and keys by name",
  examples: ["rollcall profile list", "rollcall profile use work"],
  verbs: [list, use, remove, rename],
});
