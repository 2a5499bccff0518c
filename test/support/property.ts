/** Defines the tests of a property: a quick one for few inputs, and a slow one for many. */
import fc from "fast-check";
import { it } from "vitest";

// Each commit has random inputs of its own, so CI repeats what its author saw. Outside a checkout they are always new.
const { PROPERTY_SEED: seed } = process.env;
if (seed !== undefined) fc.configureGlobal({ seed: Number(seed) });

/** The quick test tries inputs that are equal in every run, and as many random inputs. The slow test is random. */
export const itHolds = <Input>(
  title: string,
  property: fc.IRawProperty<Input>,
  { quick = 20, slow = 200 }: { readonly quick?: number; readonly slow?: number } = {},
): void => {
  it(title, async () => {
    await fc.assert(property, { numRuns: quick, seed: 9 });
    await fc.assert(property, { numRuns: quick });
  });
  it(`${title}, for ${slow} random inputs`, { tags: "slow" }, async () => fc.assert(property, { numRuns: slow }));
};

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Replaces a part of a value, or removes it. Each fraction of `way` selects a member, one level deeper. */
const damage = (value: Json, way: readonly number[], by: Json | undefined): Json => {
  const [here, ...below] = way;
  const entries = typeof value === "object" && value !== null ? Object.entries(value) : [];
  const at = Math.floor((here ?? 0) * entries.length);
  const [key, own = null] = entries[at] ?? [];
  if (here === undefined || key === undefined) return by ?? null;
  if (by === undefined && below.length === 0 && !Array.isArray(value))
    return Object.fromEntries(entries.toSpliced(at, 1));
  const changed = damage(own, below, by);
  return Array.isArray(value) ? value.with(at, changed) : Object.fromEntries(entries.with(at, [key, changed]));
};

const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

/** Samples with up to four parts that are replaced by others, or removed. */
export const damaged = (samples: readonly Json[], parts: fc.Arbitrary<Json | undefined>): fc.Arbitrary<Json> =>
  fc
    .tuple(
      fc.constantFrom(...samples),
      fc.array(fc.tuple(fc.array(fraction, { minLength: 1, maxLength: 7 }), parts), { maxLength: 4 }),
    )
    .map(([sample, harms]) => harms.reduce((value, [way, by]) => damage(value, way, by), sample));
