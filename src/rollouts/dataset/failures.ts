import { Failure } from "../../failure.ts";

export const missingSplit = (splits: readonly string[]) => {
  const areDifferent = splits.length > 1;
  const message = areDifferent
    ? `the request bodies in the input have different splits: ${splits.join(", ")}`
    : "missing --split (for example --split train)";
  const hint = areDifferent
    ? "write the request bodies of each split to a separate file, and log each file separately"
    : "pass --split <name>, or set ROLLCALL_SPLIT=<name>";
  return new Failure("usage", "missing-split", message, { hint });
};
