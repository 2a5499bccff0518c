/** Rows of chat messages as OpenAI's interface has them: a conversation a row. */
import { type Format, type FormatRun, needed, type Rollout, rewardOf, Unfit } from "./format.ts";
import { groupKeyFound, groupKeyOf, groupOf, numberOf, rolloutOf } from "./rows.ts";
import { sampledTurns } from "./turns.ts";
import type { Value } from "./value.ts";

export const openaiChat: Format = {
  name: "openai-chat",
  title: "rows of chat messages",
  keys: { group: groupKeyFound, reward: "reward", sampled: "every turn of the assistant" },
  records: { text: "lines", parquet: true },
  recognises: ({ value }) => {
    const messages = value.get("messages")?.items() ?? [];
    return (
      messages.length > 0 &&
      messages.every((message) => message.get("role")?.isText === true) &&
      !others.some((key) => value.get(key) !== undefined)
    );
  },
  open: (run) => ({ convert: (record) => rolloutsOf(run, record) }),
  left: {
    metadata: "the trajectory's metadata holds no nested values",
    metrics: "metrics are numbers and truth values",
    functions: "only tools have a place",
    "tools[]": "only function tools have a place",
  },
};

/** Keys that rows with messages have where they are something else. */
const others =
  "prompt completion completions response output info trajectory_format termination_reason reward_info simulations samples group_index".split(
    " ",
  );

const placed: ReadonlySet<string> = new Set(["messages", "reward", "tools"]);

const rolloutsOf = (run: FormatRun, { value: row }: { readonly value: Value }): readonly Rollout[] => {
  const key = groupKeyOf(row);
  const messages = needed(row, "messages", key);
  if (!messages.isList) throw new Unfit("messages is no list", messages, key);
  const all = messages.items();
  const first = all.findIndex((message) => message.get("role")?.text === "assistant");
  const group = groupOf(row, first < 0 ? all : all.slice(0, first), key);
  const own = numberOf(row, "reward", group);
  const judged = rewardOf(run, { record: row, ids: [row.get("id")], own, group });
  const turns = sampledTurns(run, messages, { group, name: "messages" });
  return [rolloutOf(row, { group, judged, turns, placed })];
};
