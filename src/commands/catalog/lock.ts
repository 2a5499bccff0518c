/** `rollcall catalog lock`: writes the facts of models into a file that `catalog verify` holds them against. */

import { type LockedModel, lockedOf, readLock, writeLock } from "../../catalogs/index.ts";
import { settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { known } from "../../contract/fields.ts";
import { counted } from "../../counted.ts";
import { printDocument } from "../../output/index.ts";
import { modelsMissing } from "../failures.ts";
import type { TypedLock } from "./command.ts";
import { openNamed } from "./named.ts";
import { catalogsMeant, readCatalog, sourceOf } from "./source.ts";

/** Writes the lock file. @throws Failure `models-missing`, `lock-foreign`, `lock-broken`, `lock-unwritable`; nothing is then written */
export const run = async (context: Context, typed: TypedLock): Promise<void> => {
  const { screen } = context;
  const { file } = typed;
  const progress = screen.progress("reading catalogs");
  const models = await modelsMeant(context, typed).finally(progress.stop);
  const changed = writeLock(file, models, screen.safe.json);
  if (context.screen.isForProgram) {
    await printDocument(screen, { file, changed, models: models.map(({ catalog, id }) => ({ catalog, id })) });
    return;
  }
  const count = counted(models.length, "model");
  screen.notice(changed ? `locked ${count} in ${file}` : `${file} holds ${count} as they are already`);
};

const modelsMeant = async (context: Context, typed: TypedLock): Promise<readonly LockedModel[]> => {
  const source = sourceOf(typed);
  const before = typed.model.length > 0 ? undefined : readLock(typed.file);
  const settings = await settingsInForce(context);
  const names = catalogsMeant(settings, typed.catalog);
  const isRead = ({ catalog }: LockedModel): boolean => names.includes(catalog);
  const lockedBefore = before?.models.filter(isRead).map(({ id, catalog }) => ({ text: id, catalog }));
  const named = openNamed(lockedBefore ?? (typed.model.length > 0 ? typed.model.map((text) => ({ text })) : undefined));
  // What is locked of a catalog that is left out now stays as it is.
  const locked = before?.models.filter((model) => !isRead(model)) ?? [];
  for (const catalog of names) {
    const taken = new Set<string>();
    const { value } = await readCatalog(context, { settings, catalog, source });
    for (const model of value.data) {
      const id = known(model.id);
      if (id === undefined) continue;
      if (named.means(id, catalog) && !taken.has(id)) locked.push(lockedOf(catalog, id, model));
      taken.add(id);
    }
  }
  const missing = named.missing();
  if (missing.length > 0) throw modelsMissing(missing, names);
  return locked;
};
