/** Says what the names of columns, and of metadata, mean. */
import { openKeyFacts } from "../../json/value.ts";
import { toSnakeCase } from "../../text/nearest.ts";

/**
 * A column with another name is not a step, so `--group-by` must name it. Writers also use camel case. `gen_step` is
 * ms-swift's, and `tail_version` AReaL's. Spaces separate the names.
 */
export const stepNames =
  "step global_step iteration train_step training_step _step rollout_step gen_step policy_version weight_version model_version tail_version checkpoint";

/** Without a prefix, these columns name the policy, as a step does. */
export const modelNames = ["model", "model_name", "model_id"];

/** `epoch` can number repetitions, so groups of the file can contain several epochs, each once. */
export const repeatedName = "epoch";

/** The objects of a row that can have these columns, as the row itself can. */
export const stepHolders = ["metadata", "info", "extra_info"] as const;

/** The likeliest group key is first. */
export const groupKeyNames: readonly string[] =
  "group_id prompt_id example_id task_id problem_id question_id scenario_id instance_id uid".split(" ");

/** Keys that divide the prompts of a run, such as its environments. */
export const divisionNames: readonly string[] =
  "environment env env_id env_name domain dataset data_source source task_type category difficulty split".split(" ");

/** AReaL's `sample_idx` counts turns, and a `run_id` names many rollouts. */
export const rolloutColumns =
  "trial_name rollout_id trajectory_id traj_id traj_uid episode_id session_id rollout_idx rollout_index".split(" ");

/** The likeliest name is first. Beside another one, `answer` is what a grader expects. */
export const answerColumns = "completion response output generation responses answer".split(" ");

/** Matches columns in which writers of a row for each turn number the turns. */
const turnColumn = /^(?:turn|exchange|segment)_?(?:id|idx|index)$/;

/** Matches columns that can be a part of the prompt, such as `persona` and `systemInstruction`. */
const contextColumn =
  /^(?:(?:sys(?:tem)?|developer)(?:_?(?:prompt|message|instruction)s?)?|instructions?|preamble|persona|context|history|few_?shots?|demonstrations?)$/i;

/** Matches columns with the media that messages refer to by their order, such as `images` and `video_path`. */
const mediaColumn =
  /^(?:(?:input|prompt|question)_)?(?:image|video|audio|frame|screenshot|media|multi_?modal_(?:data|input))s?(?:_(?:path|url|file|data|bytes|base64)s?)?$/i;

export const isMediaColumn = (key: string) => mediaColumn.test(key);

/** Matches columns with other texts or conversations, such as what a grader expects. */
export const otherColumn =
  /expected|reference|gold|correct|truth|target|label|judge|grad(?:er|ing)|critic|verifier|rubric|prompt|history|few_?shot|example/i;

/** Ids of rollouts and workers differ within each group. */
export const rolloutWords =
  /^(?!.*group$).*(?:turn|rollout|attempt|trial|repeat|episode|traj|sample_idx|worker|server|rank|node|host|device|shard)/i;
export const groupWords =
  /(?:group|task|scenario|game|prompt|problem|question|query|case)_?(?:id|idx|index)$|(?:^|[_.])(?:gid|group|task|scenario|seed)$/i;
export const idWords = /(?:_id|[a-z]Id|[Ii]dx|[Ii]ndex)$/;
/** Objects of unknown names, such as `env_state`, seldom state the policy. */
export const policyHolder = /^(?:extra|meta|config|model|sampling|policy|train(?:er|ing))(?:_|$)/;

const policyWords =
  /(?:^|_)(?:step|iter(?:ation)?|updates?|versions?|checkpoint|ckpt|revision|adapter|lora|policy|model|llm)(?:_(?:name|path|id|index|version|hash))?$/;
/** The length of an episode is not a training step. Beside `head_version`, AReaL writes `tail_version`. */
const otherPolicyName =
  /(?:^|_)(?:num|n|max|min|total|last|final|end|stop|env|agent|episode|turn)_step$|^head_version$/;

/** Matches names such as `reward`, `total_score` and `rewards.total`. */
const rewardPath =
  /(?:^|\.)(?:(?:total|final|overall|episode)_?)?(?:reward|score|rating|return)$|(?:reward|score|rating|eval)\w*\.(?:total|final|overall|value)$/i;

/** Matches names such as `my_reward` and `scores.style`, but not `scores.id`. */
const possibleReward =
  /(?:reward|score|rating)s?$|(?:reward|score|rating|eval)\w*\.(?!(?:.*[._])?(?:id|idx|index|step|prediction)$|.*metadata\.)/i;

const toCapital = (_: string, letter: string) => letter.toUpperCase();

export const comparedStepNames: readonly string[] = [
  ...new Set(stepNames.split(" ").flatMap((name) => [name, name.replace(/(?<=\w)_(\w)/g, toCapital)])),
];
const comparedNameSet = new Set(comparedStepNames);

/** Loggers put a prefix before a name, as in `train/global_step` and `trainer.step`. */
const omitPrefix = (key: string) => key.slice(Math.max(key.lastIndexOf("/"), key.lastIndexOf(".")) + 1);

export const isComparedStep = (key: string) => comparedNameSet.has(omitPrefix(key));

/** Counts if no other version of the policy is stated, because a rollout can begin with an older policy. */
export const initialVersion = "initial_policy_version";
/** The columns whose values `mixed-steps` compares. */
export const policyNames = [
  ...[...comparedStepNames, repeatedName, ...modelNames],
  ...["final_policy_version", initialVersion],
];
const divides = (key: string) => isComparedStep(key) || modelNames.includes(key);
/** True for a column that divides the groups that rollcall makes. */
export const isEpoch = (key: string) => omitPrefix(key) === repeatedName;
export const isStep = (key: string) => divides(key) || isEpoch(key);
export const isPolicyColumn = (key: string) => isStep(key) || /^(?:final|initial)_policy_version$/.test(key);

/** True for a column whose name looks like that of a policy. */
export const canNamePolicy = (key: string) => {
  const name = toSnakeCase(omitPrefix(key));
  return policyWords.test(name) && !otherPolicyName.test(name);
};

/** The columns of an object by their meanings. */
const findMeanings = (keys: readonly string[]) => ({
  steps: keys.filter(isStep),
  /** The objects that can have columns of the row. */
  holders: stepHolders.filter((name) => keys.includes(name)),
  groups: groupKeyNames.filter((name) => keys.includes(name)),
  rollouts: rolloutColumns.filter((name) => keys.includes(name)),
  turns: keys.filter((key) => turnColumn.test(key)),
  context: keys.filter((key) => contextColumn.test(key)),
  media: keys.filter(isMediaColumn),
  /** Parts of the reward, and other measures. */
  metrics: keys.filter((key) => /^(?:rewards?|scores?|metrics|reward_\w+)$/.test(key)),
});
export const columns = openKeyFacts(findMeanings);

/** True for a key that means something in a row, so that its value can be missed. */
export const isKnownColumn = (key: string) => Object.values(findMeanings([key])).some((keys) => keys.length > 0);

/** A step can be in the same objects as in expressions, where its name has no path. */
export const toKeyPaths = (name: string): readonly (readonly string[])[] => {
  const holders = comparedStepNames.includes(name) ? stepHolders : (["metadata"] as const);
  const steps = name.split(".");
  const dotted = steps.length > 1 ? [steps, ["metadata", ...steps]] : [];
  return [[name], ...holders.map((holder) => [holder, name]), ...dotted];
};

/** If the choice is unclear, returns all possible names. */
export const findRewardColumns = (names: readonly string[]) => {
  const likely = names.filter((name) => rewardPath.test(name));
  const chosen = likely.length > 1 ? likely.filter((name) => name === "reward") : likely;
  return chosen.length > 0 ? chosen : names.filter((name) => possibleReward.test(name));
};

/** Also returns the parts of an object with rewards, because another one of them can be meant. */
export const findRewardCandidates = (names: readonly string[]) => {
  const chosen = findRewardColumns(names);
  const parentOf = (name: string) => name.replace(/\.[^.]+$/, "");
  // A total makes the other members of its object parts of it.
  const totals = new Set(chosen.map(parentOf));
  const isPart = (name: string) => /^(?:rewards?|scores?|reward_\w+)\.[^.]+$/.test(name) && possibleReward.test(name);
  const parts = names.filter((name) => isPart(name) && !totals.has(parentOf(name)));
  return chosen.includes("reward") ? chosen : [...chosen, ...parts];
};
