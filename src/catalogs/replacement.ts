/** The cheapest model that could take the place of a locked one. */

import type { CatalogModel } from "../contract/catalog.ts";
import { known } from "../contract/fields.ts";
import { addDecimals, compareDecimals, type Decimal, formatDecimal, shifted } from "../decimal.ts";
import type { CatalogName } from "./catalog-names.ts";
import { type LockedModel, lockedOf } from "./lock/facts.ts";
import { abilityFindings, type LockPolicy } from "./lock/findings.ts";
import { priceIn } from "./prices.ts";
import type { LockRule } from "./verify-rules.ts";

/** A model that could take another's place; prices in US dollars per million tokens. */
export interface Replacement {
  readonly id: string;
  readonly prompt: string;
  readonly completion: string;
}

/** What keeps a model from taking another's place: all but its price, and what is not stated of no use. */
const hindrances: ReadonlySet<LockRule> = new Set([
  "quantization-fell",
  "context-fell",
  "context-unstated",
  "country-left",
  "deprecation-near",
  "modality-left",
  "feature-left",
  "parameter-left",
]);

/** A model that may be a replacement, as it is now. */
interface Candidate {
  readonly model: LockedModel;
  readonly prompt: Decimal;
  readonly completion: Decimal;
  /** Their sum. */
  readonly both: Decimal;
}

/**
 * Looks for replacements in a catalog: the cheapest model, by its prompt and completion prices together, that has the
 * locked one's features, modalities, parameters, countries, context and quantization, and lasts as long as the policy
 * asks; with `cheaper`, only one that costs less than the locked one does now.
 */
export const openReplacements = (
  catalog: CatalogName,
  models: Iterable<CatalogModel>,
  policy: LockPolicy,
): ((locked: LockedModel, asked: { readonly cheaper: boolean }) => Replacement | undefined) => {
  let candidates: readonly Candidate[] | undefined;
  let byId: ReadonlyMap<string, Candidate> | undefined;
  return (locked, { cheaper }) => {
    candidates ??= Array.from(models)
      .flatMap((model) => candidateOf(catalog, model))
      .sort((a, b) => compareDecimals(a.both, b.both));
    byId ??= new Map(candidates.map((one) => [one.model.id, one]));
    const own = cheaper ? byId.get(locked.id) : undefined;
    const found = candidates.find(
      ({ model }) =>
        model.id !== locked.id && !abilityFindings(locked, model, policy).some(({ rule }) => hindrances.has(rule)),
    );
    if (found === undefined || (own !== undefined && compareDecimals(found.both, own.both) >= 0)) return undefined;
    const perMillion = (price: Decimal): string => formatDecimal(shifted(price, 6));
    return { id: found.model.id, prompt: perMillion(found.prompt), completion: perMillion(found.completion) };
  };
};

const candidateOf = (catalog: CatalogName, model: CatalogModel): readonly Candidate[] => {
  const id = known(model.id);
  const [prompt, completion] = [priceIn(model.pricing, "prompt"), priceIn(model.pricing, "completion")];
  if (id === undefined || prompt === undefined || completion === undefined) return [];
  return [{ model: lockedOf(catalog, id, model), prompt, completion, both: addDecimals(prompt, completion) }];
};
