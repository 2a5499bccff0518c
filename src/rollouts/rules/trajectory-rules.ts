/** Defines rules for trajectories and groups. */
import { formatList } from "../../text/sentences.ts";
import { formatCommandLine } from "../../text/shell-words.ts";
import { exampleShapes, groupShapeAdvice, toolShape, trajectoryShape } from "./hints.ts";
import { shortenName } from "./positions.ts";
import { error, errorOfWhole, type LazyMessage, warning, warningOfWhole } from "./rule.ts";
import { modelNames, stepHolders, stepNames } from "./step-columns.ts";

/** Rules for the types of interface 2.1. */
export const typeRules = {
  "missing-field": error<{ field: string; instead: LazyMessage }>({
    message: ({ field }) => `${field} is missing`,
    advice: ({ field, instead }) => instead() ?? exampleShapes[field] ?? `add ${field}`,
    about: "The interface requires the field.",
  }),
  "wrong-type": error<{ field: string; wanted: string; found: string; instead?: LazyMessage }>({
    message: ({ field, wanted, found }) => `${field} must be ${wanted}, not ${found}`,
    advice: ({ field, wanted, instead }) =>
      instead?.() ?? exampleShapes[field.replace(/^tools\.\d+$/, "function")] ?? `write ${wanted}`,
    about: "The interface requires another type.",
  }),
  "start-time-invalid": error({
    message: "start_time must be an ISO 8601 date-time",
    advice: 'write it as "2025-11-01T09:30:00Z" (in Python: datetime.now(timezone.utc).isoformat()), or omit the key',
    about: "The interface requires a date with a time, and the date must exist.",
  }),
  "not-an-object": error<{ found: string }>({
    message: ({ found }) => `expected a request, a group, a trajectory or an array of them, found ${found}`,
    advice: ({ found }) =>
      found === "a string"
        ? "write the JSON without quotes around it, because it was encoded twice"
        : found === "an array"
          ? "remove one pair of brackets"
          : `${groupShapeAdvice}, or ${trajectoryShape}`,
    about: "A line must be a request, a group, a trajectory or an array of them.",
  }),
  "duplicate-key": error<{ key: string }>({
    message: ({ key }) => `the key \`${key}\` is repeated, but JSON readers keep only one of its values`,
    advice: ({ key }) => (key === "split" ? "remove one of the keys" : "merge the arrays into one, and keep one key"),
    about: "JSON readers keep only one value of a repeated key, so trajectories would be lost.",
  }),
};

const omitKeyAdvice = "omit the key (in Pydantic: model_dump(exclude_none=True))";

/** Warnings about valid input. */
export const trainingRules = {
  "tool-incomplete": warning<{ field: string }>({
    message: ({ field }) => `a tool has no ${field}`,
    advice: toolShape,
    about: "Chat templates and many services need the type of a tool and the name of its function.",
  }),
  "empty-group": warningOfWhole<{ hasExceptions: boolean }>({
    message: ({ hasExceptions }) => `the group has ${hasExceptions ? "exceptions but " : ""}no trajectories`,
    advice: "omit the group, unless it has exceptions, which exception_rate counts",
    about: "A trainer learns nothing from an empty group. Its exceptions count in `exception_rate`.",
  }),
  "null-field": warning<{ field: string }>({
    message: ({ field }) => `${field} is null`,
    advice: omitKeyAdvice,
    about: "Some services refuse null for an optional field.",
  }),
  "reward-not-finite": warning({
    message: "the reward is outside of the range of 64-bit floats, so the mean reward excludes it",
    advice: "write a number between -1.79e308 and 1.79e308",
    about: "The reward is outside of the range of 64-bit floats, so the mean excludes it.",
  }),
  "metric-not-finite": warning<{ key: string }>({
    message: ({ key }) =>
      `the metric \`${key}\` is outside of the range of 64-bit floats, so its mean excludes this value`,
    advice: "write a number between -1.79e308 and 1.79e308, or omit the key",
    about: "The metric is outside of the range of 64-bit floats, so its mean excludes it.",
  }),
  "exception-in-trajectory": warning<{ key: string }>({
    message: ({ key }) =>
      `the trajectory has the key \`${key}\`, but its reward counts as if the rollout were complete`,
    advice:
      'replace the trajectory of a failed rollout with an exception of its group ({"trajectories": […], "exceptions": ["…"]}), or move the key to metadata',
    about:
      "A failed rollout belongs in its group's `exceptions`, without a reward. As a trajectory, the rollout does not count in `exception_rate`, and its reward changes the mean of the group.",
  }),
  "metric-type": warning<{ key: string; found: string }>({
    message: ({ key, found }) =>
      `the metric \`${key}\` is ${found}, not a number or a boolean, so its mean excludes this value`,
    advice: "write a number, omit the key, or move it to metadata",
    about: "A metric is a number or a boolean. Its mean excludes other values.",
  }),
  "metric-name": warning<{ key: string }>({
    message: ({ key }) => `\`${key}\` is the name of a computed metric, so this value is ignored`,
    advice: "rename the metric",
    about: "`reward`, `reward_std_dev` and `exception_rate` are computed, so a metric with this name is ignored.",
  }),
  "metadata-nested": warning<{ key: string; found: string }>({
    message: ({ key, found }) => `metadata.${key} must be a string, a number, a boolean or null, not ${found}`,
    advice: "write the value as a string",
    about: "The value has another type than the interface names.",
  }),
  "log-type": warning<{ found: string }>({
    message: ({ found }) => `a log must be a string, not ${found}`,
    advice: "write the log as a string",
    about: "The value has another type than the interface names.",
  }),
  "message-type": warning<{ found: string }>({
    message: ({ found }) => `a message or choice must be an object, not ${found}`,
    advice: 'write it as {"role": …, "content": …}',
    about: "The value has another type than the interface names.",
  }),
  "missing-role": warning({
    message: "the message has no role and is not a choice",
    advice: "add a role, or put the message into a choice",
    about: "The message has neither a role nor the form of a choice.",
  }),
  "unknown-role": warning<{ role: string }>({
    message: ({ role }) => `unknown role \`${role}\``,
    advice: "use developer, system, user, assistant, tool or function",
    about: "Services refuse unknown roles. It is often a typo, or another framework's name.",
  }),
  "choice-role": warning<{ role: string }>({
    message: ({ role }) => `the choice has the role ${role}, but the model samples only messages of the assistant`,
    advice: "write a message that the model did not sample without the choice around it",
    about: "The model samples only messages of the assistant. A trainer would learn the words of others.",
  }),
  "unknown-tool-status": warning<{ status: string }>({
    message: ({ status }) =>
      `unknown status \`${status}\` of a tool's result, so the result does not count as an error`,
    advice: 'write "is_error": true or false',
    about:
      "rollcall cannot tell if the call succeeded. It knows `success`, `completed`, `error`, `failed` and similar words.",
  }),
  "missing-tool-call-id": warning({
    message: "the tool_call_id of the tool message is missing, empty or not a string",
    advice: "set tool_call_id to the id of the call that the message answers",
    about: "Without the id, the result belongs to no call.",
  }),
  "content-type": warning<{ found: string }>({
    message: ({ found }) => `content must be a string, an array of parts or null, not ${found}`,
    advice: "write the content as text (in Python: json.dumps)",
    about: "The value has another type than the interface names.",
  }),
  "unknown-content-part": warning({
    message: "the content part has no text and no known type, so its words or calls are in no count",
    advice: 'write words as {"type": "text", "text": …}, calls in tool_calls, and reasoning in reasoning_content',
    about: "The value has another type than the interface names.",
  }),
  "unknown-message-key": warning<{ key: string }>({
    message: ({ key }) => `rollcall does not read the message's key \`${key}\`, so its words or calls are in no count`,
    advice: "write words in content, calls in tool_calls, and reasoning in reasoning_content",
    about:
      "Without content and tool_calls, the message counts as empty. `convert --to` writes no row of such a trajectory.",
  }),
  "tool-calls-null": warning({
    message: "tool_calls is null, which is valid only in a choice",
    advice: omitKeyAdvice,
    about: "Services refuse `tool_calls: null` in a message. In a choice, null is usual.",
  }),
  "tool-calls-type": warning<{ found: string }>({
    message: ({ found }) => `tool_calls must be an array of calls with a name and arguments as text, not ${found}`,
    advice: 'write calls as [{"id": …, "type": "function", "function": {"name": …, "arguments": "{…}"}}]',
    about: "The value has another type than the interface names.",
  }),
  "history-type": warning<{ found: string }>({
    message: ({ found }) =>
      found === "an object"
        ? "an additional history must have an array in messages_and_choices"
        : `an additional history must be an object with messages_and_choices, not ${found}`,
    advice: 'write it as {"messages_and_choices": […]}',
    about: "The value has another type than the interface names.",
  }),
  "zero-variance-group": warningOfWhole<{ trajectories: number }>({
    message: ({ trajectories }) =>
      `${trajectories === 2 ? "both" : `all ${trajectories}`} rewards of the group are equal, so a trainer learns nothing from the group`,
    advice: "make the task harder or easier, or omit such groups",
    about: "Trainers learn from differences between the rewards of a group.",
  }),
  "single-trajectory-group": warningOfWhole<{ canRegroup: boolean; key: string | undefined }>({
    message: () => "the group has one trajectory, so its reward cannot be compared with others",
    advice: ({ canRegroup, key }) => {
      if (!canRegroup) return "sample several trajectories of each prompt";
      return key === undefined
        ? "sample several trajectories of each prompt, or group trajectories with --group-by"
        : `pass --group-by ${formatCommandLine([key])} to group the trajectories with the same ${key}`;
    },
    about: "Most trainers compare each reward with the mean of its group.",
  }),
  "reward-outlier": warning<{ reward: number; median: number }>({
    message: ({ reward, median }) => `the reward ${reward} is far from the file's other rewards (median ${median})`,
    advice: "check the trajectory, because its reward outweighs all others in the mean",
    about:
      "The reward's distance from the median is over 30 times the usual distance in the file, so the reward dominates the training step. If more than a tenth of the file's rewards are as far, they are usual, and rollcall reports none of them.",
  }),
  "mixed-prompts": warningOfWhole<{ prompts: number; count: number; of: number; subject: string }>({
    message: ({ prompts, count, of, subject }) =>
      `the trajectories of the group begin with ${prompts} different prompts (${count} of ${of} with that of ${subject})`,
    advice:
      "group trajectories by a key that differs between tasks, or pass --allow mixed-prompts if a simulated user wrote the prompts of one task",
    about: "In a group of several tasks, the mean reward measures the tasks, not the answers.",
  }),
  "mixed-steps": warningOfWhole<{ key: string; values: readonly string[] }>({
    message: ({ key, values }) => {
      const listed = formatList(values.map(shortenName), 3);
      return `the trajectories of the group have ${values.length} values of \`${key}\`: ${listed}`;
    },
    advice:
      "make a group for each step or model (of flat trajectories, with several keys: --group-by step,prompt_id), or pass --allow mixed-steps if one policy sampled them",
    about: `The trajectories of the group are from different policies. Compared keys, also in ${stepHolders.join(", ")}: ${[...stepNames.split(" "), ...modelNames].join(", ")}.`,
  }),
  "chat-marks-in-content": warning<{ mark: string }>({
    message: ({ mark }) => `the sampled content contains \`${mark}\`, with which a chat template begins a turn`,
    advice:
      "write each turn as a message of its own, or pass --allow chat-marks-in-content if the model sampled the mark",
    about:
      "The sampled text has a mark with which a chat template begins a turn, so one choice can contain turns of others.",
  }),
  "truncated-trajectory": warning({
    message: "the last choice has the finish_reason `length`, so the answer is cut off",
    advice: "raise the token limit of the rollouts",
    about: "The answer reached the token limit, so its reward says little about the answer.",
  }),
  "unknown-finish-reason": warning<{ reason: string }>({
    message: ({ reason }) => `unknown finish_reason ${reason}`,
    advice: "write stop, length, tool_calls, content_filter or function_call",
    about: "rollcall cannot tell if the answer is complete. The known reasons are those of OpenAI.",
  }),
  "policy-versions-reversed": warning<{ initial: number; final: number }>({
    message: ({ initial, final }) => `final_policy_version ${final} is below initial_policy_version ${initial}`,
    advice: "swap the two values if they are reversed",
    about: "While a trajectory is sampled, the version of the policy can only grow.",
  }),
  "mixed-policy-versions": warning<{ min: number; max: number }>({
    message: ({ min, max }) => `the group mixes policy versions from ${min} to ${max}`,
    advice: "sample all trajectories of a group with one version",
    about:
      "Trainers compare the rewards of a group as if one policy had earned them. With several versions, part of the difference between rewards comes from the policies.",
  }),
  "stale-policy": warningOfWhole<{ version: number; newest: number; line: number }>({
    message: ({ version, newest, line }) =>
      `the group has policy version ${version}, but an earlier group (line ${line}) has version ${newest}`,
    advice: "omit stale trajectories, or log them separately with --batch <name>",
    about: "Groups of an older policy version are off-policy. They may come from another run.",
  }),
  "missing-tool-result": warning<{ name: LazyMessage }>({
    message: ({ name }) => {
      const tool = name();
      return `the call of ${tool === undefined ? "a tool without a name" : `the tool \`${tool}\``} has no result`;
    },
    advice: "add the result as a tool message, with the id of the call as its tool_call_id",
    about: "Each call before the end of a trajectory should have a result. It was probably lost.",
  }),
  "trailing-tool-call": warning<{ name: string }>({
    message: ({ name }) => `the trajectory ends with a call of the tool \`${name}\`, whose earlier calls have results`,
    advice: "add the result, or omit the call",
    about: "Without the result, a rollout that was cut off looks like a rollout that ended with the call.",
  }),
  "undeclared-tool": warning<{ name: string }>({
    message: ({ name }) => `the model called the tool \`${name}\`, which is not in \`tools\``,
    advice: "add the tool to `tools`",
    about: "The model called a tool that it was not offered, or the recording is wrong.",
  }),
  "no-prompt": warningOfWhole({
    message: "nothing precedes the first turn of the model, so the trajectory has no prompt",
    advice: "record the messages that the model was given before its first turn",
    about: "Nothing precedes the first turn of the model, so a trainer would learn an answer without its question.",
  }),
  "no-assistant-turn": warningOfWhole({
    message: "the trajectory has no assistant turn, so there is nothing to train on",
    advice: "add the turns of the model, as choices",
    about: "The trajectory has no turn of the model, so there is nothing to train on.",
  }),
  "no-sampled-turns": warningOfWhole<{ all: boolean }>({
    message: ({ all }) =>
      `${all ? "no turn is recorded as a choice" : "no turn of the trajectory is recorded as a choice"}, so a trainer finds no sampled turn`,
    advice:
      'write each sampled turn as a choice: {"finish_reason": "stop", "index": 0, "message": {"role": "assistant", …}}',
    about: "Trainers learn from sampled turns, which are recorded as choices.",
  }),
  "missing-logprobs": warningOfWhole({
    message: "the choice has no logprobs, which other choices of the file have",
    advice:
      "record logprobs while sampling (in the OpenAI API: logprobs=True), or use a trainer that does not need them",
    about:
      "Many trainers compare the present probability of each token with its probability when it was sampled. They skip choices without logprobs. If no choice of a file has logprobs, rollcall prints a note instead.",
  }),
  "missing-tools": warningOfWhole({
    message: "the model calls tools, but the trajectory does not define them in `tools`, as others of the file do",
    advice:
      'add the definitions that the model was given: "tools": [{"type": "function", "function": {"name": …, "parameters": …}}]',
    about:
      "Tool definitions are part of the prompt. Without them, a trainer computes probabilities for another prompt. If no trajectory of a file defines tools, rollcall prints a note instead.",
  }),
  "duplicate-trajectory": warningOfWhole<{ position: string }>({
    message: ({ position }) => `the trajectory has the same bytes as the trajectory at ${position}`,
    advice:
      "remove the copies, or pass --allow duplicate-trajectory if a deterministic policy sampled the same text twice",
    about: "A duplicate counts twice. Usual causes are a file written twice, and a sampler whose seed never changes.",
  }),
  "duplicate-rollout": errorOfWhole<{ position: string }>({
    message: ({ position }) => `the record has the rollout of the record at ${position}`,
    advice:
      "pass one of the two files, or remove one of the two records (of prime-rl's stream, pass the folder `effective` of the step)",
    about:
      "A rollout that counts twice has twice its weight. Usual causes are a scored copy, a resumed run and a backup.",
  }),
  "rollout-in-parts": warningOfWhole<{ isCertain: boolean }>({
    message: ({ isCertain }) =>
      isCertain
        ? "the row is a part of a rollout, of which other rows of the group are parts, too"
        : "the row continues the row before, so both can be turns of one rollout, which counts twice",
    advice: ({ isCertain }) =>
      isCertain
        ? "write one row for each rollout, with all its turns"
        : "write one row for each rollout, or give each row the id of its rollout in the column rollout_id",
    about:
      "Rows that are turns or segments of one rollout would count as several rollouts. With an id, this is an error.",
  }),

  "missing-utc-offset": warning({
    message: "start_time has no UTC offset, so it is ambiguous",
    advice: "add an offset, such as Z for UTC",
    about:
      "Without an offset, the time depends on the time zone of the machine that reads it. If no time of a file has an offset, rollcall prints a note instead.",
  }),
  "secret-in-content": warning<{ kind: string }>({
    message: ({ kind }) => `this text looks like ${kind}`,
    advice: "revoke the secret, and remove it from the file",
    about: "Secrets that an agent reads in files and variables appear in its trajectories.",
  }),
};
