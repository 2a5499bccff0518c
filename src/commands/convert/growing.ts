/** `--follow`: what can't be asked of files that are still written. */
import { Failure } from "../../failure.ts";
import type { TypedChoosing } from "./choosing.ts";
import type { TypedForeign } from "./foreign.ts";

/** What can't be done with groups one by one, as they are written, or with lines of another shape. */
const wholeNeeded = [
  ["where", "--where"],
  ["best", "--best"],
  ["sample", "--sample"],
  ["shard", "--shard"],
  ["receipt", "--receipt"],
  ["rewardFrom", "--reward-from"],
  ["rewards", "--rewards"],
  ["lossy", "--lossy"],
  ["histories", "--histories"],
] as const;

/** Makes sure that nothing is asked that needs whole files. @throws Failure `options-contradict` */
export const requireGrowing = (typed: TypedChoosing & TypedForeign & { readonly receipt?: string }): void => {
  for (const [key, option] of wholeNeeded) {
    if (typed[key] !== undefined) throw againstFollow(option, "it needs a file that is whole");
  }
  if (typed.from !== undefined && typed.from !== "auto" && typed.from !== "rollcall") {
    const why = "a file that grows is read in rollcall's own shape";
    throw new Failure("options-contradict", { first: "--follow", second: `--from ${typed.from}`, why, way: onceWhole });
  }
};

/** How another tool's file is logged all the same. */
const onceWhole =
  "once the file is whole, leave --follow out, or have rollcall convert make groups of it; a run that writes groups itself can be followed";

/** What `--follow` can't be asked for together with. */
export const againstFollow = (second: string, why: string): Failure =>
  new Failure("options-contradict", { first: "--follow", second, why });
