/** Rows of ShareGPT: turns of `{from, value}`, with roles of its own and no ids of calls. */
import { type Built, list, object, said } from "./built.ts";
import { type Format, type FormatRun, type GroupKey, needed, type Rollout, rewardOf, Unfit } from "./format.ts";
import { groupKeyFound, groupKeyOf, groupOf, numberOf, rolloutOf } from "./rows.ts";
import { toolCall } from "./tool-calls.ts";
import { choice, derivedFinish } from "./turns.ts";
import type { Value } from "./value.ts";

export const shareGpt: Format = {
  name: "sharegpt",
  title: "conversations of ShareGPT",
  keys: { group: groupKeyFound, reward: "reward", sampled: "every turn of the assistant" },
  records: { text: "lines", parquet: true },
  lossy: true,
  recognises: ({ value }) => {
    const turns = value.get("conversations")?.items() ?? [];
    return turns.length > 0 && turns.every((turn) => turn.get("from")?.isText === true);
  },
  open: (run) => ({ convert: (record) => rolloutsOf(run, record) }),
  left: {
    metadata: "the trajectory's metadata holds no nested values",
    metrics: "metrics are numbers and truth values",
    "tools[]": "only function tools have a place",
  },
};

/** The interface's roles by the names that turns have. */
const roles: Readonly<Record<string, string>> = {
  system: "system",
  human: "user",
  user: "user",
  gpt: "assistant",
  assistant: "assistant",
  function_call: "assistant",
  tool: "tool",
  observation: "tool",
  function_response: "tool",
};

const placed: ReadonlySet<string> = new Set(["conversations", "reward", "tools", "system"]);

const rolloutsOf = (run: FormatRun, { value: row }: { readonly value: Value }): readonly Rollout[] => {
  const key = groupKeyOf(row);
  const conversations = needed(row, "conversations", key);
  if (!conversations.isList) throw new Unfit("conversations is no list", conversations, key);
  const turns = conversations.items();
  const system = row.get("system");
  const first = turns.findIndex((turn) => roles[turn.get("from")?.text ?? ""] === "assistant");
  const prompt = first < 0 ? turns : turns.slice(0, first);
  const group = groupOf(row, system === undefined ? prompt : [system, ...prompt], key);
  const own = numberOf(row, "reward", group);
  const judged = rewardOf(run, { record: row, ids: [row.get("id")], own, group });
  const before = system === undefined ? [] : [object({ role: said("system"), content: system })];
  return [rolloutOf(row, { group, judged, turns: [...before, ...turnsOf(run, turns, group)], placed })];
};

const turnsOf = (run: FormatRun, turns: readonly Value[], group: GroupKey): readonly Built[] => {
  const open: string[] = [];
  return turns.map((turn, at) => {
    const from = needed(turn, "from", group);
    const value = needed(turn, "value", group);
    const known = from.text !== undefined && Object.hasOwn(roles, from.text) ? roles[from.text] : undefined;
    if (known === undefined) throw new Unfit(`from is none of ${Object.keys(roles).join(", ")}`, from, group);
    const id = known === "tool" ? open.shift() : undefined;
    // A tool that nobody called in a turn of its own was called inside of a text.
    const role = known === "tool" && id === undefined ? "user" : known;
    if (role !== known) run.note("results of calls that stand inside of a text are the user's turns");
    if (from.text === "function_call") {
      open.push(`call_${at}`);
      return callOf(run, { from, value, id: `call_${at}`, group });
    }
    const message = object({
      role: said(role, from),
      tool_call_id: id === undefined ? undefined : said(id),
      content: value,
    });
    return role === "assistant" ? choice(message, derivedFinish(run, false)) : message;
  });
};

const callOf = (
  run: FormatRun,
  {
    from,
    value,
    id,
    group,
  }: {
    readonly from: Value;
    readonly value: Value;
    readonly id: string;
    readonly group: GroupKey;
  },
): Built => {
  if (value.inner?.get("name") === undefined) throw new Unfit("value is no call: it names no function", value, group);
  run.note("ids of calls are not recorded: results answer the calls in their order");
  const tool_calls = list([toolCall(value, said(id))]);
  return choice(object({ role: said("assistant", from), content: said(null), tool_calls }), derivedFinish(run, true));
};
