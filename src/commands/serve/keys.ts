/** What the verbs of `rollcall serve keys` do: keys for the people of a team, kept in the service's store. */

import { wrongValue } from "../../cli/index.ts";
import { localSettings } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { nearest } from "../../nearest.ts";
import { printDocument } from "../../output/index.ts";
import { newKey, openStore, type Store, storePath } from "../../service/index.ts";
import { credentialUses, parseProject } from "../../settings/index.ts";
import { keyExists, keyUnknown } from "../failures.ts";
import { printOwn } from "../lists/own.ts";
import type { TypedKey, TypedPlace } from "./command.ts";

/** Makes a key, and prints it this once. @throws Failure `key-exists`, `option-value-wrong` */
export const addKey = async (context: Context, typed: TypedKey): Promise<void> => {
  const { name } = typed;
  const uses = typed.use.length === 0 ? credentialUses : typed.use;
  const { screen, host } = context;
  if (!/^[\w.@-]{1,64}$/.test(name)) {
    throw wrongValue("<name>", name, "a name of letters, digits and . @ _ -, at most 64");
  }
  const projects = typed.project.flatMap((text) => text.split(",")).map(projectIn);
  const { keys } = await storeOf(context, typed);
  const { key, digest } = newKey();
  const added = { name, digest, projects: [...new Set(projects)], uses, created: host.now(), revoked: undefined };
  if (!(await keys.add(added))) throw keyExists(name);
  screen.notice(`this is the only time that the key of ${name} is shown: only a digest of it is stored`);
  if (screen.isForProgram) await printDocument(screen, { name, key, projects: added.projects, uses });
  else await screen.text(`${key}\n`);
};

/** Lists the keys, those that were revoked too. */
export const listKeys = async (context: Context, typed: TypedPlace): Promise<void> => {
  const { keys, place } = await storeOf(context, typed);
  const rows = await keys.list();
  if (rows.length === 0) context.screen.notice(`there are no keys in ${place}`);
  const shown = rows.map(({ name, projects, uses, created, revoked }) => {
    return { name, projects, uses, created: momentOf(created), revoked: momentOf(revoked) };
  });
  await printOwn(context.screen, {
    member: "keys",
    rows: shown,
    columns: {
      name: 0,
      projects: { rank: 0, text: ({ projects }) => (projects.length === 0 ? "all" : projects.join(", ")) },
      uses: 0,
      created: 1,
      revoked: 0,
    },
  });
};

/** Revokes a key. @throws Failure `key-unknown` */
export const revokeKey = async (context: Context, name: string, typed: TypedPlace): Promise<void> => {
  const { keys } = await storeOf(context, typed);
  if (!(await keys.revoke(name, context.host.now()))) {
    const known = (await keys.list()).flatMap((key) => (key.revoked === undefined ? [key.name] : []));
    throw keyUnknown(name, nearest(name, known));
  }
  context.screen.notice(`the key of ${name} is revoked: every service refuses it within a few seconds`);
  if (context.screen.isForProgram) await printDocument(context.screen, { revoked: name });
};

/** The keys of the store that is meant, and where it is. */
const storeOf = async (
  context: Context,
  { dataDir, store }: TypedPlace,
): Promise<Pick<Store, "keys"> & { readonly place: string }> => {
  // The projects that were typed are the key's, not the service's.
  const settings = await localSettings(context, { data_dir: dataDir, store, project: undefined });
  const maxWaitMs = settings.require("max_wait");
  const place = settings.service();
  const { keys } = context.keep(await openStore(place, { host: context.host, maxWaitMs, onAway: () => undefined }));
  return { keys, place: storePath(place) };
};

const projectIn = (text: string): string => {
  const parsed = parseProject(text);
  if (parsed.ok) return parsed.value;
  throw wrongValue("--project", text, parsed.wanted);
};

const momentOf = (ms: number | undefined): string | null => (ms === undefined ? null : new Date(ms).toISOString());
