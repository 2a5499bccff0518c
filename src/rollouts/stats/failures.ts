/** Failures of statistics. */
import { Failure } from "../../failure.ts";

export const tooManyValues = (by: string, max: number) => {
  const hint = `choose a key with fewer values, or print a row for each group or trajectory with --each`;
  return new Failure("usage", "too-many-values", `--by ${by} has more than ${max} values`, { hint });
};
