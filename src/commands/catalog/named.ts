/** The models that arguments name, by their ids or by globs over them, and those of the names that no model has. */
import { type CatalogName, matchesPattern } from "../../catalogs/index.ts";
import { nearest } from "../../nearest.ts";

/** A name. */
interface ModelName {
  readonly text: string;
  /** The catalog that it is a name in; any where absent. */
  readonly catalog?: CatalogName;
}

/** Goes along with models as they are gone through. */
interface NamedModels {
  /** Whether a model is named, or no names were given. */
  means(id: string | undefined, catalog: CatalogName): boolean;
  /** The names that meant no model so far, each with the id that is nearest to it. */
  missing(): readonly { readonly id: string; readonly near: string | undefined }[];
}

/** Opens the names; all models are meant where there are none. */
export const openNamed = (names: readonly ModelName[] | undefined): NamedModels => {
  const all = (names ?? []).map(({ text, catalog }) => {
    const glob = /[*?]/.test(text) && catalog === undefined ? matchesPattern(text) : undefined;
    return { text, catalog, glob, found: false };
  });
  const ids = new Set<string>();
  return {
    means(id, catalog) {
      if (names === undefined) return true;
      if (id !== undefined) ids.add(id);
      const meant = all.filter(
        (one) =>
          (one.catalog ?? catalog) === catalog && (one.text === id || one.glob?.({ id: id ?? "", name: "" }) === true),
      );
      for (const one of meant) one.found = true;
      return meant.length > 0;
    },
    missing: () => all.filter(({ found }) => !found).map(({ text }) => ({ id: text, near: nearest(text, ids) })),
  };
};
