/** Converts trajectories of mini-swe-agent. */

import { decidedChoice, toToolCalls } from "../../conversation/apis/openai.ts";
import { convertItem, convertOutput } from "../../conversation/apis/responses.ts";
import { literal, replaceMembers } from "../../json/output-json.ts";
import type { Value } from "../../json/value.ts";
import { buildTrajectory, findReward, listFileIds } from "./build-trajectory.ts";
import type { Format, FormatRun, SourceRecord } from "./format.ts";

export const miniSweAgent: Format = {
  name: "mini-swe-agent",
  title: "trajectories of mini-swe-agent",
  keys: {
    group: "the files with the same instance_id and model, or one file without instance_id",
    reward: "missing (pass --rewards)",
    sampled: "the responses of the assistant",
  },
  records: { text: "documents" },
  filePattern: /\.traj\.json$/,
  companions: /(?:^|\/)preds\.json$/,
  groupScope: () => "",
  // Before 1.4.0, files have no `trajectory_format`.
  recognizes: ({ value }) =>
    (value.textAt("trajectory_format")?.startsWith("mini-swe-agent-") ||
      (value.get("info")?.hasAny("exit_status", "submission") && value.has("info", "model_stats", "api_calls"))) &&
    value.get("messages")?.isList,
  open: (run) => ({ convert: (record) => [convertRollout(run, record)] }),
};

const convertRollout = (run: FormatRun, record: SourceRecord) => {
  const { value, file } = record;
  const instance = value.get("instance_id");
  const model = value.get("info", "config", "model", "model_name");
  record.group = instance
    ? { key: `${instance.raw} ${model?.raw}`, by: "instance_id and model" }
    : { key: `file ${file}`, by: "file", isDerived: true };
  const version = value.get("trajectory_format");
  if (version && !/^mini-swe-agent-1(?:\.\d+)?$/.test(version.text ?? ""))
    throw version.error("trajectory_format is not mini-swe-agent-1 or mini-swe-agent-1.<n>");
  const messages = value.requireItems("messages");
  const typed = listTyped(value, messages);
  if (typed.length > 0) run.note("kept commands that a person typed as messages");
  return buildTrajectory({
    reward: findReward(run, { record: value, ids: [instance, ...listFileIds(record)] }),
    turns: messages.flatMap((message) => convertTurns(run, message, typed.includes(message))),
    metrics: value.members("info", "model_stats").filter(([, { isNumber }]) => isNumber),
    metadata: [...value.flatMembers("info"), ["model", model], ...value.flatMembers()],
  });
};

/** Lists the assistant's messages that version 1 writes for commands of a person. */
const listTyped = (value: Value, messages: readonly Value[]) => {
  const turns = messages.filter((message) => message.textAt("role") === "assistant");
  const others = turns.filter((message) => !message.has("extra", "response"));
  const calls = value.get("info", "model_stats", "api_calls")?.number ?? turns.length;
  const hasTyped = others.length < turns.length || calls < turns.length;
  return others.filter((message) => hasTyped && /^\n```bash\n.*\n```$/s.test(message.textAt("content") ?? ""));
};

const convertTurns = (run: FormatRun, message: Value, isTyped: boolean) => {
  if (!message.isObject) throw message.error("a message is not an object");
  if (message.textAt("object") === "response") return convertOutput(run, message);
  if (message.textAt("type") === "function_call_output") return [convertItem(message, findFault(message))];
  const role = message.require("role").text;
  if (role === "assistant" && !isTyped) return sampledTurn(run, message);
  if (role === "exit") return run.skip("a message with the role exit, which tells how the agent ended");
  const malformed = message.get("extra", "response");
  const why = "because the agent's later prompts do not contain the response";
  if (malformed) run.skip(`a response with a format error, ${why}`);
  return [message.textAt("type") === "message" ? convertItem(message) : omitExtra(message)];
};

const sampledTurn = (run: FormatRun, message: Value) => {
  const answer = message.get("extra", "response");
  if (answer?.get("output")?.isList) return convertOutput(run, answer);
  const sampled = answer?.get("choices", 0);
  const finish = sampled?.get("finish_reason");
  if (sampled?.get("message")?.isObject && finish) {
    for (const value of ["role", "content", "tool_calls"].flatMap((key) => message.get(key) ?? []))
      run.unread?.keep(value);
    return [sampled];
  }
  return [decidedChoice(run, omitExtra(message), [finish])];
};

const omitExtra = (message: Value) => {
  const fault = message.textAt("role") === "tool" ? findFault(message) : undefined;
  return replaceMembers(message, {
    extra: undefined,
    tool_calls: toToolCalls(message),
    ...(fault && { is_error: fault }),
  });
};

/** A command with an exit code has a result. One that could not run has an exception. */
const findFault = (result: Value) => {
  const fault = result.get("extra", "exception_info");
  return fault?.text ? literal(true, fault) : undefined;
};
