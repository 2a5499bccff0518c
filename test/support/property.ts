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
