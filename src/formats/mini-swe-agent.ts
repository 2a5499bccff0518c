/** Trajectories of mini-swe-agent: the messages of an agent, each with the response that it came from. */
import { basename } from "node:path";
import { commonReasons, type Format, type FormatRun, type Rollout, type SourceRecord } from "./format.ts";
import { choice, deriveFinish, toToolCalls } from "./messages.ts";
import { type OutputJson, replaceMembers } from "./output-json.ts";
import { toMessage, toTurns } from "./responses.ts";
import { buildTrajectory, findReward, withGroup } from "./rollout.ts";
import { ConversionError, flatMembers, requireKey, type Value } from "./value.ts";

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
  hasGroupsAcrossFiles: true,
  recognizes: ({ value }) =>
    value.textAt("trajectory_format")?.startsWith("mini-swe-agent-") === true && value.get("messages")?.isList === true,
  open: (run) => ({ convert: (record) => [rolloutOf(run, record)] }),
  left: [
    ["the interface has no place for what a response says of itself", "messages[].extra.response messages"],
    ["a message has no place for what the agent keeps of it", "messages[].extra"],
    ["a chat message has no place for it", "messages[].output[]"],
    ["the choice of extra.response says it", "messages[].role messages[].content messages[].tool_calls"],
    [commonReasons.nested, "info"],
  ],
};

/** Its prompts have one of these from the first version on. */
const promptPattern = /MINI_SWE_AGENT_FINAL_OUTPUT|COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT/;

/** Number of first messages that contain the prompts. */
const maxPrompts = 2;

export const miniSweAgentMessages: Format = {
  ...miniSweAgent,
  name: "mini-swe-agent-messages",
  title: "bare messages of an older mini-swe-agent",
  keys: { group: "each file by itself", reward: "--rewards", sampled: "every message of the assistant" },
  lossy: true,
  recognizes: ({ value }) => {
    const messages = value.items();
    const haveRoles = messages.length > 1 && messages.every((message) => message.textAt("role") !== undefined);
    return (
      haveRoles &&
      messages.slice(0, maxPrompts).some((message) => promptPattern.test(message.get("content")?.raw ?? ""))
    );
  },
};

const rolloutOf = (run: FormatRun, { value, file }: SourceRecord): Rollout => {
  const instance = value.get("instance_id");
  const group = instance?.raw ?? `file ${file}`;
  const version = value.get("trajectory_format");
  return withGroup(group, () => {
    if (version !== undefined && !/^mini-swe-agent-1(?:\.\d+)?$/.test(version.text ?? "")) {
      throw new ConversionError("trajectory_format is none of mini-swe-agent-1 to mini-swe-agent-1.1", version);
    }
    const messages = value.isList ? value : requireKey(value, "messages");
    if (!messages.isList) throw new ConversionError("messages is no list", messages);
    const stem = basename(file).replace(/\.json(?:\.gz|\.zst)?$/, "");
    const judged = findReward(run, { record: value, ids: [instance, ...new Set([stem.replace(/\.traj$/, ""), stem])] });
    const stats = value.get("info", "model_stats")?.members() ?? [];
    const trajectory = buildTrajectory({
      rolloutReward: judged,
      turns: messages.items().flatMap((message) => turnsOf(run, message)),
      metrics: stats.filter(([, { isNumber }]) => isNumber),
      metadata: [...flatMembers(value.get("info")), ...flatMembers(value)],
    });
    return { group, ...trajectory };
  });
};

const turnsOf = (run: FormatRun, message: Value): readonly OutputJson[] => {
  if (!message.isObject) throw new ConversionError("a message is no object", message);
  if (message.textAt("object") === "response") return toTurns(run, message);
  if (message.textAt("type") === "function_call_output") return [toMessage(message)];
  const role = requireKey(message, "role").text;
  if (role === "assistant") return sampledTurn(run, message);
  if (role === "exit") {
    run.note("a message of the role exit says how the agent ended, and is left out");
    run.leaveOut(message, "a chat has no role exit");
    return [];
  }
  const refused = message.get("extra", "response");
  if (refused !== undefined) {
    run.note("a response with a format error is left out: the agent did not see it again");
    run.leaveOut(refused, "it had a format error, and the agent did not see it again");
  }
  return [message.textAt("type") === "message" ? toMessage(message) : omitExtra(message)];
};

const sampledTurn = (run: FormatRun, message: Value): readonly OutputJson[] => {
  const answer = message.get("extra", "response");
  if (answer?.get("output")?.isList === true) return toTurns(run, answer);
  const sampled = answer?.get("choices", 0);
  const finish = sampled?.get("finish_reason");
  if (sampled?.get("message")?.isObject === true && finish !== undefined) return [sampled];
  return [choice(omitExtra(message), finish ?? deriveFinish(run, toToolCalls(message) !== undefined))];
};

/** A message without what the agent keeps of it. */
const omitExtra = (message: Value): OutputJson =>
  replaceMembers(message, { extra: undefined, tool_calls: toToolCalls(message) });
