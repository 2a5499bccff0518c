/** Lists the columns that state the training step, or the version of the policy, of a rollout. */
import { toSnakeCase } from "../../text/nearest.ts";

/**
 * A column with another name is not a step, so `--group-by` must name it. Writers also use camel case. `gen_step` is
 * ms-swift's, and `tail_version` AReaL's. Spaces separate the names.
 */
export const stepNames =
  "step global_step iteration train_step training_step _step rollout_step gen_step policy_version weight_version model_version tail_version checkpoint";

/** Without a prefix, these columns name the policy, as a step does. */
export const modelNames = ["model", "model_name", "model_id"];

const toCapital = (_: string, letter: string) => letter.toUpperCase();

/** `epoch` can number repetitions, so groups of the file can contain several epochs. */
const repeatedName = "epoch";

/** The objects of a row that can have these columns, as the row itself can. */
export const stepHolders = ["metadata", "info", "extra_info"] as const;

export const comparedStepNames: readonly string[] = [
  ...new Set(stepNames.split(" ").flatMap((name) => [name, name.replace(/(?<=\w)_(\w)/g, toCapital)])),
];
const comparedNameSet = new Set(comparedStepNames);

/** Loggers put a prefix before a name, as in `train/global_step` and `trainer.step`. */
const omitPrefix = (key: string) => key.slice(Math.max(key.lastIndexOf("/"), key.lastIndexOf(".")) + 1);

export const isComparedStep = (key: string) => comparedNameSet.has(omitPrefix(key));

/** The columns whose values `mixed-steps` compares. */
export const policyNames = [...comparedStepNames, ...modelNames, "final_policy_version"];
const divides = (key: string) => isComparedStep(key) || modelNames.includes(key);
export const isPolicyColumn = (key: string) => divides(key) || key === "final_policy_version";

/** True for a column that divides the groups that rollcall makes. */
export const isStep = (key: string) => divides(key) || omitPrefix(key) === repeatedName;

const policyWords =
  /(?:^|_)(?:step|iter(?:ation)?|updates?|versions?|checkpoint|ckpt|revision|adapter|lora|policy|model|llm)(?:_(?:name|path|id|index|version|hash))?$/;
/** The length of an episode is not a training step. Beside `head_version`, AReaL writes `tail_version`. */
const otherName = /(?:^|_)(?:num|n|max|min|total|last|final|end|stop|env|agent|episode|turn)_step$|^head_version$/;

/** True for a column whose name looks like that of a policy. */
export const canNamePolicy = (key: string) => {
  const name = toSnakeCase(omitPrefix(key));
  return policyWords.test(name) && !otherName.test(name);
};
