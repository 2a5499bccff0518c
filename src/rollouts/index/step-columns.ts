/** Lists the columns that state the training step, or the version of the policy, of a rollout. */

/** A column with another name is not a step, so `--group-by` must name it. Writers also use camel case. */
const countedNames =
  "step global_step iteration train_step training_step _step rollout_step policy_version weight_version model_version checkpoint";

const toCapital = (_: string, letter: string) => letter.toUpperCase();

/** `epoch` can number repetitions, so groups of the file can contain several epochs. */
const repeatedName = "epoch";

/** The objects of a row that can have these columns, as the row itself can. */
export const stepHolders = ["metadata", "info", "extra_info"] as const;

/** The columns whose values `mixed-steps` compares. */
export const comparedStepNames: readonly string[] = [
  ...new Set(countedNames.split(" ").flatMap((name) => [name, name.replace(/(?<=\w)_(\w)/g, toCapital)])),
];
export const comparedStepPaths: readonly (readonly string[])[] = comparedStepNames.flatMap((name) => [
  [name],
  ...stepHolders.map((holder) => [holder, name]),
]);

/** The columns that divide groups that rollcall makes. */
export const stepNames = [...comparedStepNames, repeatedName];
