/** Converts conversations of ShareGPT. */
import * as chat from "../messages/chat.ts";
import { openFinish } from "../messages/finish-reason.ts";
import { OpenCalls } from "../messages/open-calls.ts";
import { addition, type Json, literal } from "../messages/output-json.ts";
import { requireOwnWords } from "../messages/template-turns.ts";
import { isMasked } from "../messages/training-masks.ts";
import type { Value } from "../messages/value.ts";
import { chatRows, takeBefore } from "./chat-rows.ts";
import type { FormatRun } from "./format.ts";
import { systemKeys } from "./row-keys.ts";

const roleNames = {
  system: ["system"],
  user: ["human", "user"],
  assistant: ["gpt", "assistant", "function_call", "tool_call"],
  tool: ["tool", "observation", "function_response", "tool_response"],
};
const roles = new Map(Object.entries(roleNames).flatMap(([role, names]) => names.map((name) => [name, role] as const)));

export const shareGpt = chatRows({
  name: "sharegpt",
  title: "conversations of ShareGPT",
  rewardKey: "reward",
  usedKeys: ["conversations", "reward", "tools", ...systemKeys],
  keys: { sampled: "all turns of the assistant" },
  isDataset: true,
  isLossy: true,
  recognizes: (row) => chat.haveTexts(chat.unwrap(row.get("conversations")), "from"),
  listTurns: (row) => ({ sampled: chat.unwrap(row.get("conversations"))?.items() ?? [] }),
  readPrompt: (row) => takeBefore(row.requireItems("conversations"), isAnswer),
  readTurns: (run, row) => shareGptTurns(run, row),
});

const isAnswer = (turn: Value) => roles.get(turn.textAt("from") ?? "") === "assistant";

const shareGptTurns = (run: FormatRun, row: Value) => {
  const openIds = new OpenCalls<string>();
  const recorded = row.requireItems("conversations");
  const finish = openFinish(run, { record: row }, recorded.filter(isAnswer).length);
  let answers = 0;
  const sampledTurn = (turn: Value, message: Json, callsTools: boolean) => {
    const reason = finish(answers++, { callsTools, message: turn });
    if (isMasked(run, turn)) return message;
    if (!callsTools) requireOwnWords(turn.get("value"));
    return chat.choice(message, reason);
  };
  return recorded.map((turn, at) => {
    const from = turn.require("from");
    const value = turn.require("value");
    const knownRole = roles.get(from.text ?? "");
    if (knownRole === undefined) throw from.error(`\`from\` is not one of ${[...roles.keys()].join(", ")}`);
    const recordedId = turn.idAt("tool_call_id");
    const id = knownRole === "tool" ? openIds.take(recordedId) : undefined;
    const role = knownRole === "tool" && (recordedId ?? id) === undefined ? "user" : knownRole;
    if (role !== knownRole) run.note("converted tool results to user messages, because their calls are not recorded");
    if (/^(?:function|tool)_call$/.test(from.text ?? "")) {
      const list = chat.unwrap(value);
      const calls = list.isList ? list.items() : [value];
      const ids = calls.map((_, index) => (calls.length === 1 ? `call_${at}` : `call_${at}_${index}`));
      for (const id of ids) openIds.add(id, id);
      run.note(chat.orderNote);
      const tool_calls = calls.map((call, index) => chat.toNamedCall(call, addition(ids[index], chat.orderReason)));
      return sampledTurn(turn, { role: literal("assistant", from), content: null, tool_calls }, true);
    }
    const { added, ids } = chat.addCallIds(turn, at);
    const recordedIds = chat.listCalls(turn).flatMap((call) => chat.unwrap(call).idAt("id") ?? []);
    for (const callId of ids ?? recordedIds) openIds.add(callId, callId);
    const message = chat.toRowMessage(turn, {
      ...{ from: undefined, value: undefined, role: literal(role, from) },
      ...(recordedId === undefined && id !== undefined && { tool_call_id: addition(id, chat.orderReason) }),
      ...{ content: value, ...added },
    });
    return role === "assistant" ? sampledTurn(turn, message, chat.hasCalls(turn)) : message;
  });
};
