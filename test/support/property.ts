/** Defines the tests of a property: a quick one for few inputs, and a slow one for many. */
import fc from "fast-check";
import { it } from "vitest";

/** Each test tries some inputs that are equal in every run, and as many random inputs. */
export const itHolds = <Input>(
  title: string,
  property: fc.IRawProperty<Input>,
  { quick = 50, slow = 500 }: { readonly quick?: number; readonly slow?: number } = {},
): void => {
  const check = (numRuns: number) => async (): Promise<void> => {
    await fc.assert(property, { numRuns, seed: 9 });
    await fc.assert(property, { numRuns });
  };
  it(title, check(quick));
  it(`${title}, for ${2 * slow} inputs`, { tags: "slow" }, check(slow));
};
