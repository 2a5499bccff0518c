/** Defines rules for trajectories and groups. */
import { formatList } from "../../text/sentences.ts";
import { formatCommandLine } from "../../text/shell-words.ts";
import { exampleShapes, groupShapeAdvice, toolShape, trajectoryShape } from "./hints.ts";
import { modelNames, repeatedName, stepHolders, stepNames } from "./names.ts";
import { shortenName } from "./positions.ts";
import { error, errorOfWhole, type LazyMessage, warning, warningOfInput, warningOfWhole } from "./rule.ts";

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
  "duplicate-structural-key": error<{ key: string }>({
    message: ({ key }) => `the key \`${key}\` is repeated, but JSON readers keep only one of its values`,
    advice: ({ key }) => (key === "split" ? "remove one of the keys" : "merge the arrays into one, and keep one key"),
    about: "JSON readers keep only one value of a repeated key, so trajectories would be lost.",
  }),
};

const omitKeyAdvice = "omit the key (in Pydantic: model_dump(exclude_none=True))";
const callShape = '{"id": …, "type": "function", "function": {"name": …, "arguments": "{…}"}}';

/** The subject (`*` is a name), the wanted type and the advice for elements whose types the interface leaves open. */
const elements = {
  message: ["a message or choice", "an object", 'write it as {"role": …, "content": …}'],
  content: ["content", "a string, an array of parts or null", "write the content as text (in Python: json.dumps)"],
  calls: ["tool_calls", "an array of calls with a name and arguments as text", `write calls as [${callShape}]`],
  callsOfMessage: ["tool_calls", "an array, except in a choice", omitKeyAdvice],
  log: ["a log", "a string", "write the log as a string"],
  history: [
    "an additional history",
    "an object with an array in messages_and_choices",
    'write it as {"messages_and_choices": […]}',
  ],
  metadata: ["metadata.*", "a string, a number, a boolean or null", "write the value as a string"],
  metric: ["the metric `*`", "a number or a boolean", "write a number, omit the key, or move it to metadata"],
  field: ["*", "absent or have a value", omitKeyAdvice],
  tool: ["the * of a tool", "a string", toolShape],
} as const;

/** A kind of element that `element-type` is about. */
export type ElementName = keyof typeof elements;

/** Warnings about valid input. */
export const trainingRules = {
  "element-type": warning<{ element: ElementName; name?: string; found: string }>({
    message: ({ element, name = "", found }) =>
      `${elements[element][0].replace("*", () => name)} must be ${elements[element][1]}, not ${found}`,
    advice: ({ element }) => elements[element][2],
    about:
      "A message, a call, a log, a value of metadata, a metric or another element has an unusual type, which services may refuse and means exclude.",
  }),
  "duplicate-key": warning<{ key: string }>({
    message: ({ key }) => `the key \`${key}\` is repeated, and only its last value counts`,
    advice: "keep one of the values",
    about: "JSON readers differ in which value of a repeated key they use.",
  }),
  "empty-group": warningOfWhole<{ hasExceptions: boolean }>({
    message: ({ hasExceptions }) => `the group has ${hasExceptions ? "exceptions but " : ""}no trajectories`,
    advice: "omit the group, unless it has exceptions, which exception_rate counts",
    about: "A trainer learns nothing from an empty group. Its exceptions count in `exception_rate`.",
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
  "metric-name": warning<{ key: string }>({
    message: ({ key }) => `\`${key}\` is the name of a computed metric, so this value is ignored`,
    advice: "rename the metric",
    about: "`reward`, `reward_std_dev` and `exception_rate` are computed, so a metric with this name is ignored.",
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
  "missing-tool-call-id": warning({
    message: "the tool_call_id of the tool message is missing, empty or not a string",
    advice: "set tool_call_id to the id of the call that the message answers",
    about: "Without the id, the result belongs to no call.",
  }),
  "zero-variance-group": warningOfWhole<{ trajectories: number }>({
    message: ({ trajectories }) =>
      `${trajectories === 2 ? "both" : `all ${trajectories}`} rewards of the group are equal, so a trainer learns nothing from the group`,
    advice: "make the task harder or easier, or omit such groups",
    about: "Trainers learn from differences between the rewards of a group.",
  }),
  "equal-prompts": warningOfInput<{ key: string }>({
    message: ({ key }) =>
      `groups of one trajectory have ${key === "prompt" ? "equal prompts" : `equal values of ${key}`}, so their rewards are not compared`,
    advice: ({ key }) => `pass --group-by ${formatCommandLine([key])} to group the trajectories with the same ${key}`,
    about: "Rollouts of one task in separate groups cannot be compared, so a trainer learns nothing from them.",
  }),
  "single-trajectory-group": warningOfWhole<{ canRegroup: boolean }>({
    message: "the group has one trajectory, so its reward cannot be compared with others",
    advice: ({ canRegroup }) =>
      `sample several trajectories of each prompt${canRegroup ? ", or group trajectories with --group-by" : ""}`,
    about: "Most trainers compare each reward with the mean of its group.",
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
    advice: ({ key }) =>
      `make a group for each step or model (of flat trajectories: --group-by ${formatCommandLine([key])},prompt), or pass --allow mixed-steps if one policy sampled them`,
    about: `The trajectories of the group are from different policies. Compared keys, also in ${stepHolders.join(", ")}: ${[...stepNames.split(" "), repeatedName, ...modelNames].join(", ")}.`,
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
  "missing-tool-result": warning<{ name: LazyMessage; isLast?: boolean }>({
    message: ({ name, isLast }) => {
      const tool = name();
      const called = `the call of ${tool === undefined ? "a tool without a name" : `the tool \`${tool}\``}`;
      return `${called}${isLast === true ? " at the end, whose earlier calls have results," : ""} has no result`;
    },
    advice: "add the result as a tool message, with the id of the call as its tool_call_id",
    about: "Each call before the end of a trajectory should have a result. It was probably lost.",
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
        : "the row continues the row before, or has the rollout id of another, so both can be parts of one rollout, which counts twice",
    advice: ({ isCertain }) =>
      isCertain
        ? "write one row for each rollout, with all its turns"
        : "write one row for each rollout, or give each row the id of its rollout in the column rollout_id",
    about:
      "Rows that are turns or segments of one rollout would count as several rollouts. With an id, this is an error.",
  }),
  "unchecked-exchanges": warningOfWhole({
    message: "the trajectory has exchanges in place of messages, which rollcall passes on without a check",
    advice: "pass --from art to convert exchanges to messages, or --allow unchecked-exchanges",
    about: "Statistics lack the turns of such a trajectory, and a service can refuse it.",
  }),
  "not-a-rollout": warningOfWhole({
    message: "the line has neither messages nor a reward, so rollcall skipped it",
    advice: "remove the line, or pass --allow not-a-rollout",
    about: "Some trainers write a summary or settings between the rollouts of a file.",
  }),
  "incomplete-page": warningOfWhole<{ shown: number; total: number }>({
    message: ({ shown, total }) => `the page has ${shown} of ${total} rollouts`,
    advice: "read all pages together, and then pass --allow incomplete-page",
    about: "A page has only a part of the run.",
  }),
  "secret-in-content": warning<{ kind: string }>({
    message: ({ kind }) => `this text looks like ${kind}`,
    advice: "revoke the secret, and remove it from the file",
    about: "Secrets that an agent reads in files and variables appear in its trajectories.",
  }),
};
