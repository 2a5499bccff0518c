/** Defines rules for trajectories and groups. */
import { formatList } from "../../text/sentences.ts";
import { formatCommandLine } from "../../text/shell-words.ts";
import { exampleShapes, groupShapeAdvice, toolShape, trajectoryShape } from "./hints.ts";
import { shortenName } from "./positions.ts";
import {
  answer,
  choiceExample,
  differing,
  error,
  fileExample,
  goodGroup,
  group,
  type LazyMessage,
  messages,
  problem,
  question,
  rewards,
  toolCallMessage,
  toolResult,
  tools,
  trajectory,
  versions,
  warning,
  warningOfWhole,
} from "./rule.ts";
import { modelNames, stepHolders, stepNames } from "./step-columns.ts";

/** Rules for the types of interface 2.1. */
export const typeRules = {
  "missing-field": error<{ field: string; instead: LazyMessage }>({
    message: ({ field }) => `${field} is missing`,
    advice: ({ field, instead }) => instead() ?? exampleShapes[field] ?? `add ${field}`,
    example: `{"messages":[${question}],"reward":1}`,
  }),
  "wrong-type": error<{ field: string; wanted: string; found: string; instead?: LazyMessage }>({
    message: ({ field, wanted, found }) => `${field} must be ${wanted}, not ${found}`,
    advice: ({ field, wanted, instead }) =>
      instead?.() ?? exampleShapes[field.replace(/^tools\.\d+$/, "function")] ?? `write ${wanted}`,
    example: trajectory('"0.5"'),
  }),
  "start-time-invalid": error({
    message: "start_time must be an ISO 8601 date-time",
    advice: 'write it as "2025-11-01T09:30:00Z" (in Python: datetime.now(timezone.utc).isoformat()), or omit the key',
    why: "The service's interface requires a date with a time. The date must exist: the 30th of February is invalid.",
    example: trajectory(1, ',"start_time":"yesterday"'),
  }),
  "not-an-object": error<{ found: string }>({
    message: ({ found }) => `expected a request, a group, a trajectory or an array of them, found ${found}`,
    advice: ({ found }) =>
      found === "a string"
        ? "write the JSON without quotes around it, because it was encoded twice"
        : found === "an array"
          ? "remove one pair of brackets"
          : `${groupShapeAdvice}, or ${trajectoryShape}`,
    example: JSON.stringify(trajectory(1)),
  }),
  "duplicate-key": error<{ key: string }>({
    message: ({ key }) => `the key \`${key}\` is repeated, but JSON readers keep only one of its values`,
    advice: ({ key }) => (key === "split" ? "remove one of the keys" : "merge the arrays into one, and keep one key"),
    why: "If a key is repeated, JSON readers keep only one of its values. The trajectories or the split of the other value would be lost.",
    example: `{"trajectories":[${trajectory(0)}],"trajectories":[${trajectory(1)}]}`,
  }),
};

const omitKeyAdvice = "omit the key (in Pydantic: model_dump(exclude_none=True))";

/** The parts are separate, so that this file contains no complete key. */
const key = ["sk", "proj", "Ab3dEfGh1JkLmN0pQrStUvWxYz"].join("-");

/** Warnings about valid input. */
export const trainingRules = {
  "tool-incomplete": warning<{ field: string }>({
    message: ({ field }) => `a tool has no ${field}`,
    advice: toolShape,
    why: "The service's interface does not require the type of a tool or the name of its function, but chat templates and many services do.",
    example: trajectory(1, ',"tools":[{"function":{"name":"search"}}]'),
  }),
  "empty-group": warningOfWhole<{ hasExceptions: boolean }>({
    message: ({ hasExceptions }) => `the group has ${hasExceptions ? "exceptions but " : ""}no trajectories`,
    advice: "omit the group, unless it has exceptions, which exception_rate counts",
    why: "A trainer learns nothing from an empty group. If all of its rollouts failed, exception_rate counts them.",
    example: group(),
  }),
  "null-field": warning<{ field: string }>({
    message: ({ field }) => `${field} is null`,
    advice: omitKeyAdvice,
    why: "Some services refuse null for an optional field.",
    example: trajectory(1, ',"tools":null'),
  }),
  "reward-not-finite": warning({
    message: "the reward is outside of the range of 64-bit floats, so the mean reward excludes it",
    advice: "write a number between -1.79e308 and 1.79e308",
    example: trajectory("1e400"),
  }),
  "metric-not-finite": warning<{ key: string }>({
    message: ({ key }) =>
      `the metric \`${key}\` is outside of the range of 64-bit floats, so its mean excludes this value`,
    redactedMessage: "a metric is outside of the range of 64-bit floats, so its mean excludes this value",
    advice: "write a number between -1.79e308 and 1.79e308, or omit the key",
    example: trajectory(1, ',"metrics":{"loss":1e400}'),
  }),
  "exception-in-trajectory": warning<{ key: string }>({
    message: ({ key }) =>
      `the trajectory has the key \`${key}\`, but its reward counts as if the rollout were complete`,
    advice:
      'replace the trajectory of a failed rollout with an exception of its group ({"trajectories": […], "exceptions": ["…"]}), or move the key to metadata',
    why: "A failed rollout belongs in its group's `exceptions`, without a reward. As a trajectory, the rollout does not count in `exception_rate`, and its reward changes the mean of the group.",
    example: trajectory(0, ',"exception":"TimeoutError: no answer within 60 s"'),
  }),
  "metric-type": warning<{ key: string; found: string }>({
    message: ({ key, found }) =>
      `the metric \`${key}\` is ${found}, not a number or a boolean, so its mean excludes this value`,
    redactedMessage: "a metric is not a number or a boolean, so its mean excludes this value",
    advice: "write a number, omit the key, or move it to metadata",
    example: trajectory(1, ',"metrics":{"solved":"yes"}'),
  }),
  "metric-name": warning<{ key: string }>({
    message: ({ key }) => `\`${key}\` is the name of a computed metric, so this value is ignored`,
    redactedMessage: "a metric has the name of a computed metric, so its value is ignored",
    advice: "rename the metric",
    why: "The service computes `reward`, `reward_std_dev` and `exception_rate` itself.",
    example: trajectory(1, ',"metrics":{"reward":1}'),
  }),
  "metadata-nested": warning<{ key: string; found: string }>({
    message: ({ key, found }) => `metadata.${key} must be a string, a number, a boolean or null, not ${found}`,
    redactedMessage: "a value of metadata must be a string, a number, a boolean or null",
    advice: "write the value as a string",
    example: trajectory(1, ',"metadata":{"task":{"id":3}}'),
  }),
  "log-type": warning<{ found: string }>({
    message: ({ found }) => `a log must be a string, not ${found}`,
    advice: "write the log as a string",
    example: trajectory(1, ',"logs":[{"step":1}]'),
  }),
  "message-type": warning<{ found: string }>({
    message: ({ found }) => `a message or choice must be an object, not ${found}`,
    advice: 'write it as {"role": …, "content": …}',
    example: messages('"2+2?"', answer),
  }),
  "missing-role": warning({
    message: "the message has no role and is not a choice",
    advice: "add a role, or put the message into a choice",
    example: messages('{"from":"human","value":"2+2?"}', answer),
  }),
  "unknown-role": warning<{ role: string }>({
    message: ({ role }) => `unknown role \`${role}\``,
    redactedMessage: "unknown role",
    advice: "use developer, system, user, assistant, tool or function",
    why: "Services refuse unknown roles. An unknown role is often a typo, or another framework's name for a role.",
    example: messages('{"role":"human","content":"2+2?"}', answer),
  }),
  "choice-role": warning<{ role: string }>({
    message: ({ role }) => `the choice has the role ${role}, but the model samples only messages of the assistant`,
    advice: "write a message that the model did not sample without the choice around it",
    why: "A trainer would learn the words of a user or a tool as those of the model.",
    example: messages(question, choiceExample().replace("assistant", "user"), choiceExample()),
  }),
  "unknown-tool-status": warning<{ status: string }>({
    message: ({ status }) =>
      `unknown status \`${status}\` of a tool's result, so the result does not count as an error`,
    redactedMessage: "unknown status of a tool's result, so the result does not count as an error",
    advice: 'write "is_error": true or false',
    why: "rollcall cannot tell if the call succeeded. It knows `success`, `completed`, `error`, `failed` and similar words.",
    example: messages(
      question,
      toolCallMessage,
      toolResult.replace('"content"', '"status":"timeout","content"'),
      answer,
    ),
  }),
  "missing-tool-call-id": warning({
    message: "the tool_call_id of the tool message is missing, empty or not a string",
    advice: "set tool_call_id to the id of the call that the message answers",
    example: messages(question, toolCallMessage, '{"role":"tool","content":"found"}', answer),
  }),
  "content-type": warning<{ found: string }>({
    message: ({ found }) => `content must be a string, an array of parts or null, not ${found}`,
    advice: "write the content as text (in Python: json.dumps)",
    example: messages('{"role":"user","content":{"text":"2+2?"}}', answer),
  }),
  "unknown-content-part": warning({
    message: "the content part has no text and no known type, so its words or calls are in no count",
    advice: 'write words as {"type": "text", "text": …}, calls in tool_calls, and reasoning in reasoning_content',
    example: messages(question, '{"role":"assistant","content":[{"type":"tool_use","name":"f","input":{}}]}'),
  }),
  "unknown-message-key": warning<{ key: string }>({
    message: ({ key }) => `rollcall does not read the message's key \`${key}\`, so its words or calls are in no count`,
    redactedMessage: "rollcall does not read a key of the message, so its words or calls are in no count",
    advice: "write words in content, calls in tool_calls, and reasoning in reasoning_content",
    why: "Without content and tool_calls, the message counts as empty. `convert --to` writes no row of such a trajectory.",
    example: messages(question, '{"role":"assistant","parts":[{"type":"text","text":"4"}]}'),
  }),
  "tool-calls-null": warning({
    message: "tool_calls is null, which is valid only in a choice",
    advice: omitKeyAdvice,
    why: "Services refuse `tool_calls: null` in a message. In a choice, null is usual.",
    example: messages(question, '{"role":"assistant","content":"4","tool_calls":null}'),
  }),
  "tool-calls-type": warning<{ found: string }>({
    message: ({ found }) => `tool_calls must be an array of calls with a name and arguments as text, not ${found}`,
    advice: 'write calls as [{"id": …, "type": "function", "function": {"name": …, "arguments": "{…}"}}]',
    example: messages(question, '{"role":"assistant","content":"4","tool_calls":{}}'),
  }),
  "history-type": warning<{ found: string }>({
    message: ({ found }) =>
      found === "an object"
        ? "an additional history must have an array in messages_and_choices"
        : `an additional history must be an object with messages_and_choices, not ${found}`,
    advice: 'write it as {"messages_and_choices": […]}',
    example: trajectory(1, ',"additional_histories":["2+2?"]'),
  }),
  "zero-variance-group": warningOfWhole<{ trajectories: number }>({
    message: ({ trajectories }) =>
      `${trajectories === 2 ? "both" : `all ${trajectories}`} rewards of the group are equal, so a trainer learns nothing from the group`,
    advice: "make the task harder or easier, or omit such groups",
    why: "Most trainers learn from differences between the rewards of a group. A group of equal rewards costs rollouts and teaches nothing.",
    example: group(trajectory(1), trajectory(1, ',"logs":["b"]')),
  }),
  "single-trajectory-group": warningOfWhole<{ canRegroup: boolean; key: string | undefined }>({
    message: () => "the group has one trajectory, so its reward cannot be compared with others",
    advice: ({ canRegroup, key }) => {
      if (!canRegroup) return "sample several trajectories of each prompt";
      return key === undefined
        ? "sample several trajectories of each prompt, or group trajectories with --group-by"
        : `pass --group-by ${formatCommandLine([key])} to group the trajectories with the same ${key}`;
    },
    why: "Most trainers compare each reward with the mean of its group. If every group of a file has one trajectory and no key would group them, rollcall prints a note instead.",
    example: `${goodGroup}\n${group(trajectory(1, ',"logs":["b"]'))}`,
  }),
  "reward-outlier": warning<{ reward: number; median: number }>({
    message: ({ reward, median }) => `the reward ${reward} is far from the file's other rewards (median ${median})`,
    redactedMessage: "the reward is far from the file's other rewards",
    advice: "check the trajectory, because its reward outweighs all others in the mean",
    why: "The reward's distance from the median is over 30 times the usual distance in the file, so the reward dominates the training step. If more than a tenth of the file's rewards are as far, they are usual, and rollcall reports none of them.",
    example: rewards(5000),
  }),
  "mixed-prompts": warningOfWhole<{ prompts: number; count: number; of: number; subject: string }>({
    message: ({ prompts, count, of, subject }) =>
      `the trajectories of the group begin with ${prompts} different prompts (${count} of ${of} with that of ${subject})`,
    advice:
      "group trajectories by a key that differs between tasks, or pass --allow mixed-prompts if a simulated user wrote the prompts of one task",
    why: "Trainers compare each reward with the mean of its group. In a group of several tasks, that mean measures the difficulty of the tasks, not the quality of the answers. A prompt is the messages before the first choice.",
    example: group(trajectory(0), trajectory(1, "", `{"role":"user","content":"3+3?"},${answer}`)),
  }),
  "mixed-steps": warningOfWhole<{ key: string; values: readonly string[] }>({
    message: ({ key, values }) => {
      const listed = formatList(values.map(shortenName), 3);
      return `the trajectories of the group have ${values.length} values of \`${key}\`: ${listed}`;
    },
    redactedMessage: "the trajectories of the group are of several steps or models",
    advice:
      "make a group for each step or model (of flat trajectories, with several keys: --group-by step,prompt_id), or pass --allow mixed-steps if one policy sampled them",
    why: `Trainers compare each reward with the mean of its group. Trajectories of several training steps or models are from different policies, so that mean measures the training. rollcall compares these keys of the trajectory and of its ${stepHolders.join(", ")}: ${[...stepNames.split(" "), ...modelNames].join(", ")}.`,
    example: group(trajectory(0, ',"metadata":{"step":1}'), trajectory(1, ',"metadata":{"step":2}')),
  }),
  "chat-marks-in-content": warning<{ mark: string; verb: "contains" | "can contain" }>({
    message: ({ mark, verb }) => `the sampled content ${verb} a turn of another role, after \`${mark}\``,
    redactedMessage: "the sampled content contains a turn of another role",
    advice:
      "write each turn as a message of its own, or pass --allow chat-marks-in-content if the model sampled the marks",
    why: "Decoded text of several turns contains results of tools or messages of the user. In one choice, a trainer takes them for the model's words. rollcall knows the marks of many templates and names unknown tokens such as <|word|>. It ignores marks in code, in prose and at the end of an answer.",
    example: messages(
      question,
      choiceExample().replace('"content":"4"', '"content":"a<|im_end|>\\n<|im_start|>user\\nb"'),
    ),
  }),
  "truncated-trajectory": warning({
    message: "the last choice has the finish_reason `length`, so the answer is cut off",
    redactedMessage: "the last answer is cut off",
    advice: "raise the token limit of the rollouts, or keep only recorded, complete ends with --where '!truncated'",
    why: "The answer reached the token limit, so its reward says little about what the model would have answered.",
    example: messages(question, choiceExample().replace("stop", "length")),
  }),
  "unknown-finish-reason": warning<{ reason: string }>({
    message: ({ reason }) => `unknown finish_reason ${reason}`,
    redactedMessage: "unknown finish_reason",
    advice: "write stop, length, tool_calls, content_filter or function_call",
    why: "rollcall cannot tell if the answer is complete. Known reasons are those of OpenAI. An answer with `abort` (vLLM, SGLang) or `error` (OpenRouter) is not complete.",
    example: messages(question, choiceExample().replace("stop", "max_tokens")),
  }),
  "policy-versions-reversed": warning<{ initial: number; final: number }>({
    message: ({ initial, final }) => `final_policy_version ${final} is below initial_policy_version ${initial}`,
    redactedMessage: "final_policy_version is below initial_policy_version",
    advice: "swap the two values if they are reversed",
    why: "While a trajectory is sampled, the version of the policy can only grow.",
    example: trajectory(1, ',"initial_policy_version":8,"final_policy_version":7'),
  }),
  "mixed-policy-versions": warning<{ min: number; max: number }>({
    message: ({ min, max }) => `the group mixes policy versions from ${min} to ${max}`,
    redactedMessage: "the group mixes policy versions",
    advice: "sample all trajectories of a group with one version",
    why: "Trainers compare the rewards of a group as if one policy had earned them. With several versions, part of the difference between rewards comes from the policies.",
    example: group(trajectory(0, ',"final_policy_version":7'), trajectory(1, ',"final_policy_version":8')),
  }),
  "stale-policy": warningOfWhole<{ version: number; newest: number; line: number }>({
    message: ({ version, newest, line }) =>
      `the group has policy version ${version}, but an earlier group (line ${line}) has version ${newest}`,
    redactedMessage: "the group has an older policy version than a group earlier in the file",
    advice: "omit stale trajectories, or log them separately with --batch <name>",
    why: "Groups of an older policy version are off-policy. They may come from another run.",
    example: versions(7, 8, 7),
  }),
  "missing-tool-result": warning<{ name: LazyMessage }>({
    message: ({ name }) => {
      const tool = name();
      return `the call of ${tool === undefined ? "a tool without a name" : `the tool \`${tool}\``} has no result`;
    },
    redactedMessage: "the call of a tool has no result",
    advice: "add the result as a tool message, with the id of the call as its tool_call_id",
    why: "Each call before the end of a trajectory should have a result. A missing result was probably lost.",
    example: messages(question, toolCallMessage, answer),
  }),
  "trailing-tool-call": warning<{ name: string }>({
    message: ({ name }) => `the trajectory ends with a call of the tool \`${name}\`, whose earlier calls have results`,
    redactedMessage: "the trajectory ends with a call of a tool whose earlier calls have results",
    advice: "add the result, or omit the call",
    why: "Without the result, a rollout that was cut off looks like a rollout that ended with the call.",
    example: messages(question, toolCallMessage, toolResult, toolCallMessage),
  }),
  "undeclared-tool": warning<{ name: string }>({
    message: ({ name }) => `the model called the tool \`${name}\`, which is not in \`tools\``,
    redactedMessage: "the model called a tool that is not in `tools`",
    advice: "add the tool to `tools`",
    why: "The model called a tool that it was not offered, or the recording is wrong.",
    example: trajectory(1, tools("web_search"), `${question},${toolCallMessage}`),
  }),
  "no-prompt": warningOfWhole({
    message: "nothing precedes the first turn of the model, so the trajectory has no prompt",
    advice: "record the messages that the model was given before its first turn",
    why: "A trainer would learn an answer without its question. `convert --to` writes no row of such a trajectory, and its group has no pair in `compare`. A system message or a greeting followed by a question is a prompt.",
    example: messages(answer, question, answer),
  }),
  "no-assistant-turn": warningOfWhole({
    message: "the trajectory has no assistant turn, so there is nothing to train on",
    advice: "add the turns of the model, as choices",
    example: messages(question),
  }),
  "no-sampled-turns": warningOfWhole<{ all: boolean }>({
    message: ({ all }) =>
      `${all ? "no turn is recorded as a choice" : "no turn of the trajectory is recorded as a choice"}, so a trainer finds no sampled turn`,
    advice:
      'write each sampled turn as a choice: {"finish_reason": "stop", "index": 0, "message": {"role": "assistant", …}}',
    why: "Trainers learn from sampled turns, which are recorded as choices. A message is part of the prompt, even a message of the assistant.",
    example: trajectory(1),
  }),
  "missing-logprobs": warningOfWhole({
    message: "the choice has no logprobs, which other choices of the file have",
    advice:
      "record logprobs while sampling (in the OpenAI API: logprobs=True), or use a trainer that does not need them",
    why: "Many trainers compare the present probability of each token with its probability when it was sampled. They skip choices without logprobs. If no choice of a file has logprobs, rollcall prints a note instead.",
    example: messages(question, choiceExample(',"logprobs":{"content":[{}]}'), question, choiceExample()),
  }),
  "missing-tools": warningOfWhole({
    message: "the model calls tools, but the trajectory does not define them in `tools`, as others of the file do",
    advice:
      'add the definitions that the model was given: "tools": [{"type": "function", "function": {"name": …, "parameters": …}}]',
    why: "Tool definitions are part of the prompt. Without them, a trainer computes probabilities for another prompt. If no trajectory of a file defines tools, rollcall prints a note instead.",
    example: differing(tools("search"), "", `${question},${toolCallMessage},${toolResult},${answer}`),
  }),
  "duplicate-trajectory": warningOfWhole<{ position: string }>({
    message: ({ position }) => `the trajectory has the same bytes as the trajectory at ${position}`,
    redactedMessage: "the trajectory has the same bytes as another trajectory of the input",
    advice:
      "remove the copies, or pass --allow duplicate-trajectory if a deterministic policy sampled the same text twice",
    why: "A duplicate counts twice. Usual causes are a file that was written twice, and a sampler whose seed never changes.",
    example: group(trajectory(0), trajectory(1), trajectory(0)),
  }),
  "duplicate-rollout": warningOfWhole<{ position: string }>({
    message: ({ position }) =>
      `the rollout has the same id as the rollout at ${position}, so rollcall counts only this copy`,
    redactedMessage: "the rollout has the same id as another rollout, so rollcall counts only this copy",
    advice: "remove the other copy, or pass --allow duplicate-rollout, which does not restore it",
    why: "A rollout that counts twice has twice its weight. Usual causes are a scored copy of a log, a resumed run and a backup. The newest copy counts: by the times in the records, otherwise the last copy. Lines in rollcall's format are never left out.",
    example: problem({ position: "add.eval!samples/1_epoch_1.json:1" }, "add-scored.eval!samples/1_epoch_1.json", 1),
  }),
  "split-leak": warningOfWhole<{ position: string }>({
    message: ({ position }) =>
      `the group has the same prompt as the group at ${position}, in a file that --against names`,
    redactedMessage: "the prompt of the group is also in a file of --against",
    advice: "remove the prompt from one of the splits",
    why: "You cannot evaluate a model on a prompt that it was trained on, whatever the answers. A prompt is the messages before the first choice, compared as values. Find the prompts of both splits with `rollcall check --split train train.jsonl --against val.jsonl`.",
    example: fileExample(goodGroup, { against: `\n${group(trajectory(1))}` }),
  }),
  "missing-utc-offset": warning({
    message: "start_time has no UTC offset, so it is ambiguous",
    advice: "add an offset, such as Z for UTC",
    why: "Without an offset, the time depends on the time zone of the machine that reads it. If no time of a file has an offset, rollcall prints a note instead.",
    example: differing(',"start_time":"2025-11-01T09:30:00Z"', ',"start_time":"2025-11-01T09:30:00"'),
  }),
  "secret-in-content": warning<{ kind: string }>({
    message: ({ kind }) => `this text looks like ${kind}`,
    advice: "revoke the secret, and remove it from the file with `rollcall convert --redact`",
    why: "Secrets that an agent reads in files and environment variables appear in its trajectories. rollcall looks for the key formats of well-known services and never prints what it finds.",
    example: messages(question, `{"role":"assistant","content":"export KEY=${key}"}`),
  }),
};
