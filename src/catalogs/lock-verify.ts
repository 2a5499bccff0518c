/** Holds all models of a lock file against the catalogs as they are now, and finds the cheapest model to take a lost one's place. */
import type { CatalogModel } from "../contract/catalog.ts";
import { known } from "../contract/fields.ts";
import { addDecimals, compareDecimals, type Decimal, formatDecimal, shifted } from "../decimal.ts";
import type { Problem, Severity } from "../failure.ts";
import type { CatalogName } from "./catalog-names.ts";
import { type LockedModel, type LockFile, lockedOf } from "./lock.ts";
import { canReplace, findingsOf, type LockFinding, type LockPolicy, lockRules, notServed } from "./lock-rules.ts";
import { priceIn } from "./prices.ts";

/** Something that got worse, where the lock file says what it was, and what could be used instead. */
export interface Verified {
  readonly locked: LockedModel;
  readonly finding: LockFinding;
  readonly problem: Problem;
  /** The cheapest model that would do; undefined where there is none, or none is needed. */
  readonly replacement: Replacement | undefined;
}

/** What got worse, in the order of the lock file. */
export const verifyLock = (
  lock: LockFile,
  catalogs: ReadonlyMap<CatalogName, Iterable<CatalogModel>>,
  policy: LockPolicy,
): readonly Verified[] => {
  const served = new Map(Array.from(catalogs, ([name, models]) => [name, servedIn(name, models, lock)]));
  const replacements = new Map(
    Array.from(catalogs, ([name, models]) => [name, openReplacements(name, models, policy)]),
  );
  return lock.models.flatMap((locked, at): readonly Verified[] => {
    const findings = fewestFindings(locked, served.get(locked.catalog)?.get(locked.id) ?? [], policy);
    const errors = findings.filter(({ rule }) => severityOf(rule) === "error");
    const isError = errors.length > 0;
    // If only a price is wrong, only a cheaper model helps.
    const cheaper = isError && errors.every(({ rule }) => rule === "price-rose");
    const replacement = isError ? replacements.get(locked.catalog)?.(locked, { cheaper }) : undefined;
    const advice = isError ? adviceOf(locked, replacement, cheaper ? " for less" : "") : acceptAdvice;
    return findings
      .map((finding) => {
        const { rule, path } = finding;
        const message = `${locked.id} ${finding.message}`;
        const place = { file: lock.file, ...lock.positionOf(at, path), path: ["models", at, ...path] };
        return {
          locked,
          finding,
          problem: { ...place, rule, severity: severityOf(rule), message, advice },
          replacement,
        };
      })
      .sort((a, b) => a.problem.line - b.problem.line);
  });
};

const severityOf = (rule: string): Severity => lockRules[rule]?.severity ?? "error";

/** The locked models as they are now; several where a catalog has an id more than once. */
const servedIn = (
  catalog: CatalogName,
  models: Iterable<CatalogModel>,
  lock: LockFile,
): ReadonlyMap<string, readonly LockedModel[]> => {
  const wanted = new Set(lock.models.flatMap((one) => (one.catalog === catalog ? [one.id] : [])));
  const found = new Map<string, LockedModel[]>();
  for (const model of models) {
    const id = known(model.id);
    if (id === undefined || !wanted.has(id)) continue;
    found.set(id, [...(found.get(id) ?? []), lockedOf(catalog, id, model)]);
  }
  return found;
};

/**
 * The findings of the model that is most like the locked one: it has the fewest differences. That its end is near counts
 * only if all else is equal.
 */
const fewestFindings = (
  locked: LockedModel,
  now: readonly LockedModel[],
  policy: LockPolicy,
): readonly LockFinding[] => {
  const differences = (findings: readonly LockFinding[]): number =>
    findings.filter(({ rule }) => rule !== "deprecation-near").length;
  const [fewest = [notServed(locked)]] = now
    .map((one) => findingsOf(locked, one, policy))
    .sort((a, b) => differences(a) - differences(b) || a.length - b.length);
  return fewest;
};

/** What to do where nothing fails, and no other model is looked for. */
export const acceptAdvice =
  "if that is right, `rollcall catalog lock` writes what is stated now; --allow <rule> leaves the rule out";

const adviceOf = ({ catalog }: LockedModel, replacement: Replacement | undefined, forLess: string): string => {
  if (replacement === undefined) return `no other model of the ${catalog} catalog can do the same${forLess}`;
  const { id, prompt, completion } = replacement;
  return `the cheapest that can do the same is ${id}: ${prompt} $/M in, ${completion} $/M out`;
};

/** A model that could take another's place; prices in US dollars per million tokens. */
interface Replacement {
  readonly id: string;
  readonly prompt: string;
  readonly completion: string;
}

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
const openReplacements = (
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
    const found = candidates.find(({ model }) => model.id !== locked.id && canReplace(locked, model, policy));
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
