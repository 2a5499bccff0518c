/** `rollcall catalog lock`: writes the facts of models into a file that `catalog verify` holds them against. */

import type { Command } from "commander";
import type { CatalogName, LockedModel } from "../../catalogs/index.ts";
import type { Context, Start } from "../../context.ts";
import { known } from "../../contract/fields.ts";
import { Failure } from "../../failure.ts";
import { nearest } from "../../nearest.ts";
import { printDocument } from "../../output/index.ts";
import { examples } from "../help.ts";
import { isForProgram } from "../lists/form.ts";
import {
  type CatalogSource,
  catalogNamed,
  catalogsInForce,
  readCatalog,
  sourceOf,
  sourceOptions,
  type TypedSource,
} from "./source.ts";

/** The lock file where none is named. */
export const usualLockFile = "rollcall.lock.json";

interface TypedLock extends TypedSource {
  readonly file: string;
  readonly catalog?: string;
}

/** What `catalog lock` was asked for. */
interface LockOptions {
  readonly models: readonly string[];
  readonly file: string;
  readonly catalog: CatalogName | undefined;
  readonly source: CatalogSource;
}

/** Declares `catalog lock`. */
export const declareCatalogLock = (group: Command, start: Start): void => {
  const command = group
    .command("lock")
    .description("write the facts of models into a lock file, for catalog verify")
    .argument("[model...]", "ids, or globs over them; none: those of the lock file, else all")
    .option("--file <file>", "the lock file", usualLockFile)
    .option("--catalog <analysis|router>", "only that catalog");
  sourceOptions(command).action(async (models: string[], typed: TypedLock, own: Command) => {
    const context = start(own);
    const catalog = typed.catalog === undefined ? undefined : catalogNamed(typed.catalog);
    await lock(context, { models, file: typed.file, catalog, source: sourceOf(typed) });
  });
  examples(command, [
    "rollcall catalog lock 'moonshotai/*' --local --file /tmp/rollcall.lock.json",
    "rollcall catalog lock openai/gpt-oss-120b zai-org/GLM-4.6",
  ]);
};

/** @throws Failure `models-missing`, `lock-foreign`, `lock-broken`, `lock-unwritable`; nothing is then written */
const lock = async (context: Context, options: LockOptions): Promise<void> => {
  const { screen } = context;
  const { writeLock } = await (await context.catalogs()).lockDoor();
  const progress = screen.progress("reading catalogs");
  const models = await modelsMeant(context, options).finally(progress.stop);
  const changed = writeLock(options.file, models);
  if (isForProgram(context)) {
    const document = { file: options.file, changed, models: models.map(({ catalog, id }) => ({ catalog, id })) };
    await printDocument(screen, document);
    return;
  }
  const count = models.length === 1 ? "1 model" : `${models.length} models`;
  screen.notice(changed ? `locked ${count} in ${options.file}` : `${options.file} holds ${count} as they are already`);
};

const modelsMeant = async (
  context: Context,
  { models, file, catalog, source }: LockOptions,
): Promise<readonly LockedModel[]> => {
  const { lockedOf, lockDoor, matchesPattern } = await context.catalogs();
  const before = models.length > 0 ? undefined : (await lockDoor()).readLock(file);
  const settings = await context.settings();
  const names = catalog === undefined ? await catalogsInForce(context, settings) : [catalog];
  const wanted = before?.models
    .filter((model) => names.includes(model.catalog))
    .map((model) => ({ text: model.id, of: model.catalog, isMeant: (id: string) => id === model.id, found: false }));
  const named = models.map((text) => {
    const glob = /[*?]/.test(text) ? matchesPattern(text) : undefined;
    return {
      text,
      of: undefined,
      isMeant: (id: string) => id === text || glob?.({ id, name: "" }) === true,
      found: false,
    };
  });
  const asked = wanted ?? (named.length > 0 ? named : undefined);
  // What is locked of a catalog that is left out now stays as it is.
  const locked = before?.models.filter((model) => !names.includes(model.catalog)) ?? [];
  const ids = new Set<string>();
  for (const name of names) {
    const taken = new Set<string>();
    const { value } = await readCatalog(context, { settings, catalog: name, source });
    for (const model of value.data) {
      const id = known(model.id);
      if (id === undefined) continue;
      ids.add(id);
      const meant = asked?.filter(({ of, isMeant }) => (of === undefined || of === name) && isMeant(id));
      for (const one of meant ?? []) one.found = true;
      if (meant?.length !== 0 && !taken.has(id)) locked.push(lockedOf(name, id, model));
      taken.add(id);
    }
  }
  const missing = (asked ?? [])
    .filter(({ found }) => !found)
    .map(({ text }) => ({ id: text, near: nearest(text, [...ids]) }));
  if (missing.length > 0) throw new Failure("models-missing", { models: missing, catalogs: names });
  return locked;
};
