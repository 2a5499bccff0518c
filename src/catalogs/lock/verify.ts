/** Holds all models of a lock file against the catalogs as they are now, with a policy. */
import type { CatalogModel } from "../../contract/catalog.ts";
import { known } from "../../contract/fields.ts";
import type { Problem } from "../../failure.ts";
import type { CatalogName } from "../catalog-names.ts";
import { openReplacements, type Replacement } from "../replacement.ts";
import { lockRules } from "../verify-rules.ts";
import { type LockedModel, lockedOf } from "./facts.ts";
import type { LockFile, LockPath, LockSpot } from "./file.ts";
import { findingsOf, type LockFinding, type LockPolicy } from "./findings.ts";

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
    const findings = leastOf(locked, served.get(locked.catalog)?.get(locked.id) ?? [], policy);
    const errors = findings.filter(({ rule }) => lockRules[rule] === "error");
    const isError = errors.length > 0;
    const cheaper = isError && errors.every(({ rule }) => rule === "price-rose");
    const replacement = isError ? replacements.get(locked.catalog)?.(locked, { cheaper }) : undefined;
    return findings
      .map((finding) => {
        const path = ["models", at, ...finding.path];
        const spot = lock.spotOf(path);
        const problem = problemOf({ lock, locked, finding, path, spot, replacement, isError, cheaper });
        return { locked, finding, problem, replacement };
      })
      .sort((a, b) => (a.problem.line ?? 0) - (b.problem.line ?? 0));
  });
};

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
 * The findings of that one of several which is most like what was locked: it has the fewest, and that its end is near is no
 * difference unless all else is equal.
 */
const leastOf = (locked: LockedModel, now: readonly LockedModel[], policy: LockPolicy): readonly LockFinding[] => {
  const differences = (findings: readonly LockFinding[]): number =>
    findings.filter(({ rule }) => rule !== "deprecation-near").length;
  const [least] = now
    .map((one) => findingsOf(locked, one, policy))
    .sort((a, b) => differences(a) - differences(b) || a.length - b.length);
  return least ?? findingsOf(locked, undefined, policy);
};

const problemOf = ({
  lock,
  locked,
  finding,
  path,
  spot,
  replacement,
  isError,
  cheaper,
}: {
  readonly lock: LockFile;
  readonly locked: LockedModel;
  readonly finding: LockFinding;
  readonly path: LockPath;
  readonly spot: LockSpot;
  readonly replacement: Replacement | undefined;
  readonly isError: boolean;
  /** Whether a price is all that is wrong, so that only a cheaper model helps. */
  readonly cheaper: boolean;
}): Problem => ({
  file: lock.file,
  line: spot.line,
  column: spot.column,
  path,
  rule: finding.rule,
  severity: lockRules[finding.rule],
  message: `${locked.id} ${finding.message}`,
  ...(isError ? { advice: adviceOf(locked, replacement, cheaper ? " for less" : "") } : {}),
});

const adviceOf = ({ catalog }: LockedModel, replacement: Replacement | undefined, forLess: string): string => {
  if (replacement === undefined) return `no other model of the ${catalog} catalog can do the same${forLess}`;
  const { id, prompt, completion } = replacement;
  return `the cheapest that can do the same is ${id}: ${prompt} $/M in, ${completion} $/M out`;
};
