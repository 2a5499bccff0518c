/** What the verbs of `rollcall profile` do. */

import { settingsSources } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { type Column, printDocument, printList, textColumn } from "../../output/index.ts";
import {
  deleteProfile,
  findProfile,
  listProfiles,
  type ProfileRow,
  renameProfile,
  useProfile,
} from "../../settings/index.ts";
import { confirm } from "../confirm.ts";

/** Lists every profile. */
export const list = async (context: Context): Promise<void> => {
  const rows = listProfiles(settingsSources(context));
  const profiles = rows.map(({ name, inUse, address, keys }) => ({
    name,
    in_use: inUse,
    base_url: address ?? null,
    keys,
  }));
  const bytes = Buffer.from(JSON.stringify({ profiles }));
  await printList(context.screen, { columns, rows, wire: { bytes, member: "profiles" } });
};

const columns: readonly Column<ProfileRow>[] = [
  textColumn("name", { heading: "profile", rank: 0, text: ({ name }) => name }),
  textColumn("in_use", {
    heading: "in use",
    rank: 0,
    text: ({ inUse }) => (inUse ? "yes" : ""),
    value: ({ inUse }) => inUse,
  }),
  textColumn("base_url", { rank: 1, text: ({ address }) => address }),
  textColumn("keys", {
    heading: "keys for",
    rank: 1,
    text: ({ keys }) => keys.join(", "),
    value: ({ keys }) => keys.join(";"),
  }),
];

/** Has a profile used wherever none is named. */
export const use = async (context: Context, { name }: { readonly name: string }): Promise<void> => {
  await useProfile(settingsSources(context), name);
  context.screen.notice(`the profile ${name} is used wherever none is named`);
  const { ROLLCALL_PROFILE: other } = context.host.env;
  if (other) context.screen.notice(`ROLLCALL_PROFILE is set, and goes before it: ${other}`);
  if (context.screen.isForProgram) await printDocument(context.screen, { profile: name });
};

/** Forgets a profile, once somebody said yes. */
export const remove = async (
  context: Context,
  { name, yes }: { readonly name: string; readonly yes: boolean },
): Promise<void> => {
  const sources = settingsSources(context);
  const { settings, keys } = findProfile(sources, name);
  const parts = [
    ...(settings.length === 0 ? [] : [`its settings (${settings.join(", ")})`]),
    ...(keys.length === 0 ? [] : [`its keys for ${keys.join(", ")}`]),
  ];
  const what = `delete the profile ${name}${parts.length === 0 ? "" : ` with ${parts.join(" and ")}`}`;
  await confirm(context, { what, option: "--yes", yes });
  const { wasInUse } = await deleteProfile(sources, name);
  context.screen.notice(`the profile ${name} is deleted`);
  if (wasInUse) context.screen.notice("the profile default is used again wherever none is named");
  if (context.screen.isForProgram) await printDocument(context.screen, { deleted: name, settings, keys });
};

/** Gives a profile another name. */
export const rename = async (
  context: Context,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> => {
  const { account } = await renameProfile(settingsSources(context), { from, to });
  context.screen.notice(`the profile ${from} is now called ${to}`);
  context.screen.notice(`its account stays ${account}, so that what it logged stays known`);
  if (context.screen.isForProgram) await printDocument(context.screen, { from, to, account });
};
