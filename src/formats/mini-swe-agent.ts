/** Trajectories of mini-swe-agent: the messages of an agent, each with the response that it came from. */
import { basename } from "node:path";
import { type Built, list, object, objectOf, replaced, unlessEmpty } from "./built.ts";
import { type Format, type FormatRun, needed, type Rollout, rewardOf, type SourceRecord, Unfit } from "./format.ts";
import { givenItem, sampledItems } from "./responses.ts";
import { toolCalls } from "./tool-calls.ts";
import { choice, derivedFinish } from "./turns.ts";
import type { Value } from "./value.ts";

const response = "the interface has no place for what a response says of itself";
const own = "the choice of extra.response says it";

export const miniSweAgent: Format = {
  name: "mini-swe-agent",
  title: "trajectories of mini-swe-agent",
  keys: {
    group: "instance_id, else each file by itself",
    reward: "--rewards",
    sampled: "the responses of the assistant's messages",
  },
  records: { text: "document" },
  files: /\.traj\.json(?:\.gz|\.zst)?$/,
  groupsAcross: true,
  recognises: ({ value }) =>
    value.get("trajectory_format")?.text?.startsWith("mini-swe-agent-") === true &&
    value.get("messages")?.isList === true,
  open: (run) => ({ convert: (record) => rolloutsOf(run, record) }),
  left: {
    "messages[].extra.response": response,
    "messages[].extra": "a message has no place for what the agent keeps of it",
    "messages[].output[]": "a chat message has no place for it",
    "messages[].role": own,
    "messages[].content": own,
    "messages[].tool_calls": own,
    messages: response,
    "info.config": "the trajectory's metadata holds no nested values",
    info: "the trajectory's metadata holds no nested values",
  },
};

/** Words that its prompts have from the first version on, and that end its runs. */
const marks = /MINI_SWE_AGENT_FINAL_OUTPUT|COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT/;

export const miniSweAgentMessages: Format = {
  ...miniSweAgent,
  name: "mini-swe-agent-messages",
  title: "bare messages of an older mini-swe-agent",
  keys: { group: "each file by itself", reward: "--rewards", sampled: "every message of the assistant" },
  lossy: true,
  recognises: ({ value }) =>
    value.items().length > 1 &&
    value.items().every((message) => message.get("role")?.isText === true) &&
    value
      .items()
      .slice(0, mostPrompts)
      .some((message) => marks.test(message.get("content")?.raw ?? "")),
};

/** Messages that hold the prompts. */
const mostPrompts = 2;

const rolloutsOf = (run: FormatRun, { value, file }: SourceRecord): readonly Rollout[] => {
  const instance = value.get("instance_id");
  const group = instance?.raw ?? `file ${file}`;
  const version = value.get("trajectory_format");
  if (version !== undefined && !/^mini-swe-agent-1(?:\.\d+)?$/.test(version.text ?? "")) {
    throw new Unfit("trajectory_format is none of mini-swe-agent-1 to mini-swe-agent-1.1", version, group);
  }
  const messages = value.isList ? value : needed(value, "messages", group);
  if (!messages.isList) throw new Unfit("messages is no list", messages, group);
  const stem = basename(file).replace(/\.json(?:\.gz|\.zst)?$/, "");
  const ids = [instance, ...new Set([stem.replace(/\.traj$/, ""), stem])];
  const { reward, identity } = rewardOf(run, { record: value, ids, group });
  const stats = value.get("info", "model_stats")?.members() ?? [];
  const trajectory = object({
    messages_and_choices: list(messages.items().flatMap((message) => turnsOf(run, message, group))),
    reward,
    metrics: unlessEmpty(objectOf(stats.filter(([, { number }]) => number !== undefined))),
    metadata: unlessEmpty(objectOf([...scalarsOf(value.get("info")), ...scalarsOf(value)])),
  });
  return [{ group, identity, trajectory }];
};

const turnsOf = (run: FormatRun, message: Value, group: string): readonly Built[] => {
  if (!message.isObject) throw new Unfit("a message is no object", message, group);
  if (message.get("object")?.text === "response") return sampledItems(message, { run, group });
  if (message.get("type")?.text === "function_call_output") return [givenItem(message, { run, group })];
  const role = needed(message, "role", group).text;
  if (role === "assistant") return sampledTurn(run, message, group);
  if (role === "exit") {
    run.note("a message of the role exit says how the agent ended, and is left out");
    run.leave(message, "a chat has no role exit");
    return [];
  }
  const refused = message.get("extra", "response");
  if (refused !== undefined) {
    run.note("a response with a format error is left out: the agent did not see it again");
    run.leave(refused, "it had a format error, and the agent did not see it again");
  }
  if (message.get("type")?.text === "message") return [givenItem(message, { run, group })];
  return [plain(message)];
};

const sampledTurn = (run: FormatRun, message: Value, group: string): readonly Built[] => {
  const response = message.get("extra", "response");
  if (response?.get("output")?.isList === true) return sampledItems(response, { run, group });
  const sampled = response?.get("choices", 0);
  if (sampled?.get("message")?.isObject === true && sampled.get("finish_reason") !== undefined) return [sampled];
  const finish = sampled?.get("finish_reason") ?? derivedFinish(run, toolCalls(message) !== undefined);
  return [choice(plain(message), finish)];
};

/** A message without what the agent keeps of it. */
const plain = (message: Value): Built => replaced(message, { extra: undefined, tool_calls: toolCalls(message) });

const scalarsOf = (value: Value | undefined): readonly (readonly [string, Value])[] =>
  (value?.members() ?? []).filter(([, { isFlat }]) => isFlat);
