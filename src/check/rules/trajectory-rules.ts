/** Rules of trajectories and groups: what the interface and deployed services ask for, and what a training run learns from. */
import {
  answer,
  error,
  fileExample,
  goodGroup,
  group,
  messages,
  question,
  toolCallMessage,
  toolResult,
  trajectory,
  warning,
  warningOfGroup,
} from "./rule.ts";

/** What fixes it, looked for where somebody reads it. */
type LazyHint = () => string | undefined;

/** What fields and values look like, by the names that they have in a sentence. */
const exampleShapes: Readonly<Record<string, string>> = {
  "a group": 'a group is {"trajectories": [{…}, {…}]}',
  "a trajectory": 'a trajectory is {"messages_and_choices": [{…}, {…}], "reward": 1}',
  trajectory_groups: 'a request is {"split": "train", "trajectory_groups": [{…}, {…}]}',
  trajectories: 'a group is {"trajectories": [{…}, {…}]}',
  messages_and_choices: 'a trajectory is {"messages_and_choices": [{…}, {…}], "reward": 1}',
  reward: 'reward is one number for the whole trajectory: "reward": 1',
  function: 'a tool is {"type": "function", "function": {"name": …}}',
};

/** Values that are not as the interface's tables have them (interface 2.1). */
export const typeRules = {
  "missing-field": error<{ field: string; instead: LazyHint }>({
    message: ({ field }) => `${field} is missing`,
    advice: ({ field, instead }) => instead() ?? exampleShapes[field] ?? `add ${field}: the interface asks for it`,
    why: "The interface asks for the field.",
    example: `{"messages":[${question}],"reward":1}`,
  }),
  "wrong-type": error<{ field: string; wanted: string; found: string; instead?: LazyHint }>({
    message: ({ field, wanted, found }) => `${field} must be ${wanted}, not ${found}`,
    advice: ({ field, wanted, instead }) => instead?.() ?? exampleShapes[field] ?? `write ${wanted}`,
    why: "The interface gives the field another type.",
    example: trajectory('"0.5"'),
  }),
  "start-time-invalid": error({
    message: "start_time must be an ISO 8601 date-time",
    advice:
      'write it as "2025-11-01T09:30:00Z" (in Python: datetime.now(timezone.utc).isoformat()), or leave the key out',
    why: "The interface asks for a date and a time that there are: neither a date alone nor the 30th of February is one.",
    example: trajectory(1, ',"start_time":"yesterday"'),
  }),
  "not-an-object": error<{ found: string }>({
    message: ({ found }) => `a line is a request, a group, a trajectory or an array of them, not ${found}`,
    advice: ({ found }) =>
      found === "a string"
        ? "the JSON was written twice: parse the string once more"
        : found === "an array"
          ? "there is one array too many around it"
          : `${exampleShapes["a group"]}; ${exampleShapes["a trajectory"]}`,
    why: "A line is none of what the interface knows.",
    example: JSON.stringify(trajectory(1)),
  }),
  "duplicate-key": error<{ key: string }>({
    message: ({ key }) => `${key} stands twice in one object, and one of them would be lost`,
    advice: ({ key }) => (key === "split" ? "leave one of them" : "put all of them into one array"),
    why: "JSON readers keep one of two equal keys: the trajectories under the other, or its split, would be lost.",
    example: `{"trajectories":[${trajectory(0)}],"trajectories":[${trajectory(1)}]}`,
  }),
};

const leaveOutAdvice = "leave the key out (in Pydantic: model_dump(exclude_none=True))";

/** Values that the interface leaves open, and that deployed services or their metrics don't. */
export const fieldRules = {
  "tool-incomplete": warning<{ field: string }>({
    message: ({ field }) => `a tool has no ${field}`,
    advice: 'a tool is {"type": "function", "function": {"name": …}}',
    why: "The interface lets a tool lack its type and its function a name; chat templates and many services do not.",
    example: trajectory(1, ',"tools":[{"function":{"name":"search"}}]'),
  }),
  "empty-group": warning<{ hasExceptions: boolean }>({
    message: ({ hasExceptions }) =>
      hasExceptions ? "the group has exceptions, and no trajectories" : "the group has no trajectories",
    advice: ({ hasExceptions }) =>
      hasExceptions
        ? "keep it, so that exception_rate counts what failed, with --allow empty-group where that is meant; without it the rate is too low"
        : "leave it out",
    why: "A group without trajectories counts, and teaches nothing. Where all of its rollouts failed, they count as its exceptions.",
    example: group(),
  }),
  "null-field": warning<{ field: string }>({
    message: ({ field }) => `${field} is null`,
    advice: leaveOutAdvice,
    why: "Some services refuse null where a field may be left out.",
    example: trajectory(1, ',"tools":null'),
  }),
  "reward-not-finite": warning({
    message: "the reward is too large for a number, and left out of the metrics",
    advice: "write a finite number",
    why: "A number such as 1e400 is JSON, and no double.",
    example: trajectory("1e400"),
  }),
  "metric-not-finite": warning<{ key: string }>({
    message: ({ key }) => `the metric ${key} is too large for a number, and left out of the metrics`,
    redactedMessage: "a metric is too large for a number, and left out of the metrics",
    advice: "write a finite number, or leave the key out",
    why: "A number such as 1e400 is JSON, and no double.",
    example: trajectory(1, ',"metrics":{"loss":1e400}'),
  }),
  "exception-in-trajectory": warning<{ key: string }>({
    message: ({ key }) => `a trajectory has ${key} of its own, and counts as one that came to its end, with its reward`,
    advice:
      'a rollout that failed is no trajectory: leave it out, and count it in its group: {"trajectories": […], "exceptions": ["…"]}; where its reward counts, put the text into metadata',
    why: "One rollout is one thing: with a reward a trajectory, without one an exception. `exception_rate` counts the `exceptions` of groups alone, and a reward that nothing earned spoils the baseline of its group.",
    example: trajectory(0, ',"exception":"TimeoutError: no answer within 60 s"'),
  }),
  "metric-type": warning<{ key: string; found: string }>({
    message: ({ key, found }) =>
      `the metric ${key} is ${found}, not a number or a boolean, and left out of the metrics`,
    redactedMessage: "a metric is not a number or a boolean, and left out of the metrics",
    advice: "write a number, leave the key out, or put it into metadata",
    why: "A metric is a number or a boolean: nothing else has a mean.",
    example: trajectory(1, ',"metrics":{"solved":"yes"}'),
  }),
  "metric-name": warning<{ key: string }>({
    message: ({ key }) => `a metric can't be called ${key}, which is calculated, and is left out of the metrics`,
    redactedMessage: "a metric has the name of one that is calculated, and is left out of the metrics",
    advice: "give it another name",
    why: "`reward`, `reward_std_dev` and `exception_rate` are calculated.",
    example: trajectory(1, ',"metrics":{"reward":1}'),
  }),
  "metadata-nested": warning<{ key: string; found: string }>({
    message: ({ key, found }) => `metadata.${key} is ${found}: metadata holds strings, numbers, booleans and null`,
    redactedMessage: "a value of metadata is nested: metadata holds strings, numbers, booleans and null",
    advice: "write it as a string",
    why: "Services refuse lists and objects in metadata.",
    example: trajectory(1, ',"metadata":{"task":{"id":3}}'),
  }),
  "log-type": warning<{ found: string }>({
    message: ({ found }) => `a log is ${found}, not a string`,
    advice: "write it as a string",
    why: "Services refuse logs that are not strings.",
    example: trajectory(1, ',"logs":[{"step":1}]'),
  }),
  "message-type": warning<{ found: string }>({
    message: ({ found }) => `a message or choice is ${found}, not an object`,
    advice: 'a message is {"role": …, "content": …}',
    why: "A message is an object with a role, a choice one with a message.",
    example: messages('"2+2?"', answer),
  }),
  "missing-role": warning<{ instead: LazyHint }>({
    message: "a message has no role, and is no choice",
    advice: ({ instead }) => instead() ?? "give it a role, or put it into a choice's message",
    why: "Services tell messages apart by their role.",
    example: messages('{"from":"human","value":"2+2?"}', answer),
  }),
  "unknown-role": warning<{ role: string; suggestion: LazyHint }>({
    message: ({ role }) => `the role ${role} is unknown`,
    redactedMessage: "the role is unknown",
    advice: ({ suggestion }) => {
      const meant = suggestion();
      return meant === undefined
        ? "roles are developer, system, user, assistant, tool and function"
        : `did you mean ${meant}?`;
    },
    why: "Services refuse roles that they do not know: a slip, or the name another framework has for it.",
    example: messages('{"role":"human","content":"2+2?"}', answer),
  }),
  "missing-tool-call-id": warning({
    message: "a tool message has no tool_call_id",
    advice: "give it the id of the call that it answers",
    why: "A tool's result names the call that it answers.",
    example: messages(question, toolCallMessage, '{"role":"tool","content":"found"}', answer),
  }),
  "content-type": warning<{ found: string }>({
    message: ({ found }) => `content is ${found}, not a string, an array of parts or null`,
    advice: "write it as text (in Python: json.dumps makes text of it)",
    why: "Content is a string, an array of parts, or null.",
    example: messages('{"role":"user","content":{"text":"2+2?"}}', answer),
  }),
  "tool-calls-null": warning({
    message: "tool_calls is null, which only a choice's message may have",
    advice: leaveOutAdvice,
    why: "Services refuse `tool_calls: null` in a message; in a choice's message it is usual.",
    example: messages(question, '{"role":"assistant","content":"4","tool_calls":null}'),
  }),
  "tool-calls-type": warning<{ found: string }>({
    message: ({ found }) => `tool_calls is ${found}, not an array`,
    advice: "make it an array of calls",
    why: "Tool calls are an array.",
    example: messages(question, '{"role":"assistant","content":"4","tool_calls":{}}'),
  }),
  "history-type": warning<{ found: string }>({
    message: ({ found }) => `an additional history is ${found}, not an object with messages_and_choices`,
    advice: 'write it as {"messages_and_choices": […]}',
    why: "An additional history holds messages of its own.",
    example: trajectory(1, ',"additional_histories":["2+2?"]'),
  }),
};

export const tools = (name: string): string => `,"tools":[{"type":"function","function":{"name":"${name}"}}]`;

export const choice = (more = ""): string => `{"finish_reason":"stop","index":0,"message":${answer}${more}}`;

/** Thirty trajectories, and the reward of the last. */
export const rewards = (last: number): string =>
  Array.from({ length: 30 }, (_, at) => trajectory(at === 29 ? last : at % 2, `,"metadata":{"at":${at}}`)).join("\n");

/** A group of each policy version. */
export const versions = (...all: readonly number[]): string =>
  all
    .map((version, at) =>
      group(trajectory(0, `,"final_policy_version":${version},"logs":["${at}"]`), trajectory(1, `,"logs":["${at}"]`)),
    )
    .join("\n");

/** It looks like a key, but not in this file. */
const key = ["sk", "proj", "Ab3dEfGh1JkLmN0pQrStUvWxYz"].join("-");

/** Rules of the training signal: they cost people runs, and no service tells them. */
export const signalRules = {
  "zero-variance-group": warningOfGroup<{ trajectories: number }>({
    message: ({ trajectories }) =>
      `${trajectories === 2 ? "both" : `all ${trajectories}`} rewards of the group are equal: there is nothing to learn from it`,
    advice: "make the task harder or easier, or leave such groups out",
    why: "Most trainers learn from how the rewards of a group differ. Where they are equal, the group is paid for and not used.",
    example: group(trajectory(1), trajectory(1, ',"logs":["b"]')),
  }),
  "single-trajectory-group": warningOfGroup<{ key: string | undefined }>({
    message: () => "the group has one trajectory: there is nothing to compare its reward with",
    advice: ({ key }) =>
      key === undefined
        ? "sample several trajectories of each prompt; --group-by puts those with the same key into one group"
        : `--group-by ${key} would group them: several of those alone have the same`,
    why: "Most trainers learn from how the rewards of a group differ, and one reward differs from none.",
    example: trajectory(1),
  }),
  "reward-outlier": warning<{ reward: number; median: number }>({
    message: ({ reward, median }) =>
      `the reward ${reward} is far outside the others of the file, whose median is ${median}`,
    redactedMessage: "the reward is far outside the others of the file",
    advice: "look at the trajectory: one such reward outweighs all others in the mean",
    why: "A reward that is thirty times as far from the median as is usual in the file decides the whole step by itself.",
    example: rewards(5000),
  }),
  "policy-versions-reversed": warning<{ initial: number; final: number }>({
    message: ({ initial, final }) => `final_policy_version ${final} is below initial_policy_version ${initial}`,
    redactedMessage: "final_policy_version is below initial_policy_version",
    advice: "a policy's version only grows: the two may have changed places",
    why: "A policy's version grows while a trajectory is sampled, if it changes at all.",
    example: trajectory(1, ',"initial_policy_version":8,"final_policy_version":7'),
  }),
  "mixed-policy-versions": warning<{ least: number; most: number }>({
    message: ({ least, most }) => `the group mixes the policy versions ${least} to ${most}`,
    redactedMessage: "the group mixes policy versions",
    advice: "their rewards are compared as if one policy had earned them: sample a group with one version",
    why: "A trajectory is held against the others of its group. Where an older policy sampled some of them, part of the difference is the policy's age.",
    example: group(trajectory(0, ',"final_policy_version":7'), trajectory(1, ',"final_policy_version":8')),
  }),
  "stale-policy": warningOfGroup<{ version: number; newest: number; line: number }>({
    message: ({ version, newest, line }) =>
      `the group is of policy version ${version}, older than version ${newest} before it in the file (line ${line})`,
    redactedMessage: "the group is of an older policy version than one before it in the file",
    advice: "trajectories of an older policy may be stale: leave them out, or log them with their own step",
    why: "Groups of an older policy than those before them in the file are off-policy data: left over, or merged from another run.",
    example: versions(7, 8, 7),
  }),
  "missing-tool-result": warning<{ name: string | undefined }>({
    message: ({ name }) =>
      name === undefined
        ? "the call of a tool without a name has no result"
        : `the call of the tool ${name} has no result`,
    redactedMessage: "the call of a tool has no result",
    advice: "add the tool message with its tool_call_id",
    why: "A call that has no result, and is not what the trajectory ends with, was lost on the way.",
    example: messages(question, toolCallMessage, answer),
  }),
  "trailing-tool-call": warning<{ name: string }>({
    message: ({ name }) => `the trajectory ends with a call of the tool ${name}, whose earlier calls have results`,
    redactedMessage: "the trajectory ends with a call of a tool whose earlier calls have results",
    advice:
      "was the rollout cut off? add the result, or leave the call out; a call that ends a rollout on purpose is of a tool of its own",
    why: "A rollout that was cut off before its tool answered looks like one that ended there.",
    example: messages(question, toolCallMessage, toolResult, toolCallMessage),
  }),
  "undeclared-tool": warning<{ name: string; suggestion: () => string | undefined }>({
    message: ({ name }) => `the tool ${name} is called, and tools does not list it`,
    redactedMessage: "a tool is called that tools does not list",
    advice: ({ suggestion }) => {
      const meant = suggestion();
      return meant === undefined ? "list it in tools" : `did you mean ${meant}?`;
    },
    why: "The model called a tool that it was not offered: a slip of the recording, or of the model.",
    example: trajectory(1, tools("web_search"), `${question},${toolCallMessage}`),
  }),
  "no-assistant-turn": warningOfGroup({
    message: "the trajectory has no assistant turn: the policy says nothing in it",
    advice: "messages of the role assistant, or choices, are what is learned from",
    why: "What is learned from are the turns of the model.",
    example: messages(question),
  }),
  "no-sampled-turns": warningOfGroup<{ all: boolean }>({
    message: ({ all }) =>
      `${all ? "no trajectory" : "the trajectory"} has ${all ? "a" : "no"} choice: a trainer finds no sampled turn to learn from`,
    advice:
      'write each turn that the model sampled as a choice: {"finish_reason": "stop", "index": 0, "message": {"role": "assistant", …}}',
    why: "Trainers learn from the turns that the policy sampled, which are choices. A plain message, of the assistant too, is one that was given to it, so that a trajectory without a choice adds nothing.",
    example: trajectory(1),
  }),
  "missing-logprobs": warningOfGroup<{ all: boolean }>({
    message: ({ all }) => (all ? "no choice has logprobs" : "the choice has no logprobs"),
    advice:
      "record them while sampling (in the OpenAI API: logprobs=True), or make sure that the trainer goes without: many leave such choices out",
    why: "Many trainers hold each token against the probability that it was sampled with, and leave out choices that lack it.",
    example: messages(question, choice()),
  }),
  "missing-tools": warningOfGroup<{ all: boolean }>({
    message: ({ all }) => `tools are called, and ${all ? "no trajectory has" : "the trajectory has no"} tools`,
    advice:
      'put the definitions that the model was given into tools: [{"type": "function", "function": {"name": …, "parameters": …}}]',
    why: "The tools are part of the prompt that the model saw: without them a trainer computes the probabilities of another prompt.",
    example: messages(question, toolCallMessage, toolResult, answer),
  }),
  "duplicate-trajectory": warningOfGroup<{ place: string }>({
    message: ({ place }) => `the trajectory is, byte for byte, the one at ${place}`,
    redactedMessage: "the trajectory is, byte for byte, another one of the input",
    advice: "leave one of them out, unless the policy is deterministic",
    why: "The same trajectory twice counts twice: a file was written twice, or a sampler's seed never changed.",
    example: group(trajectory(0), trajectory(1), trajectory(0)),
  }),
  "split-leak": warningOfGroup<{ place: string }>({
    message: ({ place }) => `the group is, byte for byte, the one at ${place}, which belongs to another split`,
    redactedMessage: "the group stands, byte for byte, in another split too",
    advice: "leave it out of one of them: what was trained on tests nothing",
    why: "A split that was trained on tests nothing (`rollcall check --split train train.jsonl --against val.jsonl`).",
    example: fileExample(goodGroup, { against: `\n${goodGroup}` }),
  }),
  "missing-utc-offset": warning<{ found: string }>({
    message: ({ found }) => `start_time ${found} has no zone, so that nobody can say when it was`,
    redactedMessage: "start_time has no zone, so that nobody can say when it was",
    advice: ({ found }) => `add one: ${found}Z is UTC`,
    why: "A time without a zone is another moment on every machine.",
    example: trajectory(1, ',"start_time":"2025-11-01T09:30:00"'),
  }),
  "secret-in-content": warning<{ kind: string }>({
    message: ({ kind }) => `this looks like ${kind}`,
    advice: "take it out before it is logged, and revoke it: whoever reads the trajectories can use it",
    why: "Agents read files and environments, and what they read is logged. Key formats of well-known services are looked for; what is found is never printed.",
    example: messages(question, `{"role":"assistant","content":"export KEY=${key}"}`),
  }),
};
