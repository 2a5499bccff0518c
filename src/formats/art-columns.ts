/** The columns of ART's Parquet beside its JSON: those that tell rows apart, and those for queries, which say what the JSON says. */
import { isDeepStrictEqual } from "node:util";
import { isObject } from "../json/walk.ts";
import type { Value } from "./value.ts";

/** Columns that tell rows apart, and those for queries that say what the JSON says, with the place of that. */
export function* saidAgain(
  row: Value,
  { group, trajectory }: { readonly group: Value; readonly trajectory: Value | undefined },
): Generator<readonly [Value, string], void> {
  const told = { format_version: "group", group_index: "group", trajectory_index: "group.trajectories[]" };
  for (const [column, to] of Object.entries(told)) {
    const value = row.get(column);
    if (value !== undefined) yield [value, to];
  }
  const json = row.get("group_json");
  if (json !== undefined && group.members().length === 0) yield [json, "group"];
  for (const { column, to, said } of queryColumns({ group, trajectory })) {
    const value = row.get(column);
    if (value !== undefined && isDeepStrictEqual(parsedTexts(value.data), parsedTexts(said))) yield [value, to];
  }
}

/** A column's value with the JSON in its texts parsed: writers put white space into it as they like. */
const parsedTexts = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(parsedTexts);
  if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, parsedTexts(one)]));
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
};

/** The columns for queries of a row: what they say, undefined where that is null, and where that stands. */
export const queryColumns = ({
  group,
  trajectory,
}: {
  readonly group: Value;
  readonly trajectory: Value | undefined;
}): readonly { readonly column: string; readonly to: string; readonly said: unknown }[] => [
  { column: "group_metadata", to: "group.metadata", said: textOf(group.get("metadata")) },
  { column: "group_metrics", to: "group.metrics", said: textOf(group.get("metrics")) },
  { column: "group_logs", to: "group.logs", said: textsOf(group.get("logs")) },
  { column: "reward", to: "trajectory.reward", said: trajectory?.get("reward")?.number },
  { column: "metrics", to: "trajectory.metrics", said: textOf(trajectory?.get("metrics")) },
  { column: "metadata", to: "trajectory.metadata", said: textOf(trajectory?.get("metadata")) },
  { column: "tools", to: "trajectory.tools", said: textOf(trajectory?.get("tools")) },
  { column: "logs", to: "trajectory.logs", said: textsOf(trajectory?.get("logs")) },
  { column: "messages", to: "trajectory.messages_and_choices", said: messagesOf(trajectory) },
];

const textOf = (value: Value | undefined): string | undefined =>
  value === undefined || (value.items().length === 0 && value.members().length === 0) ? undefined : value.raw;

const textsOf = (value: Value | undefined): readonly string[] | undefined => {
  const texts = (value?.items() ?? []).flatMap(({ text }) => text ?? []);
  return texts.length === 0 || texts.length !== value?.items().length ? undefined : texts;
};

/** The messages flat; undefined where the content of one is no text. */
const messagesOf = (trajectory: Value | undefined): readonly object[] | undefined => {
  if (trajectory === undefined) return undefined;
  const items = trajectory.get("messages_and_choices")?.items() ?? [];
  const flat = items.map((item) => {
    const trainable = isObject(item.data) && Object.hasOwn(item.data, "finish_reason");
    const message = trainable ? item.get("message") : item;
    const [role, content, calls, id] = ["role", "content", "tool_calls", "tool_call_id"].map((key) =>
      message?.get(key),
    );
    const isFlat = content === undefined || content.text !== undefined;
    return {
      isFlat,
      message: {
        ...(role?.text === undefined ? {} : { role: role.text }),
        ...(content?.text === undefined ? {} : { content: content.text }),
        ...(textOf(calls) === undefined ? {} : { tool_calls: textOf(calls) }),
        ...(trainable || id?.text === undefined ? {} : { tool_call_id: id.text }),
        trainable,
      },
    };
  });
  return flat.every(({ isFlat }) => isFlat) ? flat.map(({ message }) => message) : undefined;
};
