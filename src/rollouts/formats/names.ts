/** Says what the names of a row's columns mean. */

import { openKeyFacts } from "../../json/value.ts";
import { groupKeyNames } from "../index/group-key.ts";
import { isStep, stepHolders } from "../rules/step-columns.ts";

/** AReaL's `sample_idx` counts turns, and a `run_id` names many rollouts. */
export const rolloutColumns =
  "trial_name rollout_id trajectory_id traj_id traj_uid episode_id session_id rollout_idx rollout_index".split(" ");

export const systemColumns = ["system", "system_prompt", "system_message"];

/** Matches columns in which writers of a row for each turn number the turns. */
const turnColumn = /^(?:turn|exchange|segment)_?(?:id|idx|index)$/;

/** Matches columns that can be a part of the prompt, such as `persona` and `systemInstruction`. */
const contextColumn =
  /^(?:(?:sys(?:tem)?|developer)(?:_?(?:prompt|message|instruction)s?)?|instructions?|preamble|persona|context|history|few_?shots?|demonstrations?)$/i;

/** Matches columns with the media that messages refer to by their order, such as `images` and `video_path`. */
const mediaColumn =
  /^(?:(?:input|prompt|question)_)?(?:image|video|audio|frame|screenshot|media|multi_?modal_(?:data|input))s?(?:_(?:path|url|file|data|bytes|base64)s?)?$/i;

/** The columns of an object by their meanings. */
export const columns = openKeyFacts((keys) => ({
  steps: keys.filter(isStep),
  /** The objects that can have columns of the row. */
  holders: stepHolders.filter((name) => keys.includes(name)),
  groups: groupKeyNames.filter((name) => keys.includes(name)),
  rollouts: rolloutColumns.filter((name) => keys.includes(name)),
  turns: keys.filter((key) => turnColumn.test(key)),
  context: keys.filter((key) => contextColumn.test(key) && !systemColumns.includes(key)),
  media: keys.filter((key) => mediaColumn.test(key)),
  /** Parts of the reward, and other measures. */
  metrics: keys.filter((key) => /^(?:rewards?|scores?|metrics|reward_\w+)$/.test(key)),
}));

/** Matches columns with an answer. */
export const sampledColumn = /(?:^|_)(?:completion|response|output|generat|predict|repl(?:y|ies)|candidate)/i;
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
