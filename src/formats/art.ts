/** ART's Parquet, version 2: a trajectory per row, with the JSON of it and of its group, and columns for queries. */
import { hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { type Columns, columnToJson } from "../input/index.ts";
import { isObject, parseJson } from "../json/walk.ts";
import type { Converter, Format, FormatRun, Rollout, SourceRecord } from "./format.ts";
import { list, type OutputJson, replaceMembers } from "./output-json.ts";
import { findReward, withGroup } from "./rollout.ts";
import { ConversionError, requireKey, type Value } from "./value.ts";

export const art: Format = {
  name: "art",
  title: "ART's Parquet",
  keys: { group: "group_index", reward: "reward", sampled: "choices" },
  records: { parquet: true },
  columns: ["format_version", "group_index", "trajectory_index", "group_json", "trajectory_json"],
  previewedColumns: ["format_version", "group_index", "trajectory_index", "group_json"],
  jsonColumns: ["trajectory_json"],
  recognizes: ({ value }) =>
    value.get("group_index") !== undefined &&
    (value.get("group_json") !== undefined || value.get("messages", 0, "trainable") !== undefined),
  open: (run) => openRows(run),
  left: [
    [
      "a column for queries: group_json and trajectory_json count, and say otherwise",
      "group_metadata group_metrics group_logs reward metrics metadata tools logs messages",
    ],
  ],
};

const supportedVersion = 2;

/** The rows of a group: their positions by `trajectory_index`, and digests of what they say of it. */
interface GroupRows {
  readonly positions: Map<number, number>;
  readonly digests: Set<string>;
  readonly first: number;
  empty: number;
}

const openRows = (run: FormatRun): Converter => {
  const files = new Map<string, Map<number, GroupRows>>();
  /** What is wrong with rows, by file and position. */
  const faults = new Map<string, string>();
  /** The first row of another version in each file. */
  const firstRefused = new Map<string, number>();
  /** The last JSON of a group, and its digest: the rows of a group repeat it. */
  let last = { json: "", digest: "" };

  /** Rows can have any order: only all of them tell if one is missing. */
  const lookAtColumns = (row: Columns, { file, position }: Omit<SourceRecord, "value">): void => {
    const groupIndex = numberIn(row.group_index);
    if (numberIn(row.format_version) !== supportedVersion || groupIndex === undefined) return;
    const groups = files.get(file) ?? new Map<number, GroupRows>();
    files.set(file, groups);
    const group = groups.get(groupIndex) ?? { positions: new Map(), digests: new Set(), first: position, empty: 0 };
    groups.set(groupIndex, group);
    const { positions, digests } = group;
    const fault = (wrong: string): void => void faults.set(`${file} ${position}`, wrong);
    const index = numberIn(row.trajectory_index);
    if (index === undefined) group.empty++;
    else if (positions.has(index)) fault(`trajectory_index ${index} stands twice in group ${groupIndex}`);
    else positions.set(index, position);
    if (positions.size > 0 ? group.empty > 0 : group.empty > 1) {
      fault(`a row says that group ${groupIndex} has no trajectories, and it has another row`);
    }
    const json = columnToJson(row.group_json) ?? "";
    if (json !== last.json) last = { json, digest: hash("sha256", json) };
    digests.add(last.digest);
    if (digests.size > 1) fault(`group_json says something else than in another row of group ${groupIndex}`);
  };

  /** Finds the rows that are missing in a file, once all were seen. */
  const findMissing = (file: string): void => {
    const groups = files.get(file);
    if (groups === undefined) return;
    files.delete(file);
    const fault = (position: number, wrong: string): void => void faults.set(`${file} ${position}`, wrong);
    for (const [at, [groupIndex, { positions, first }]] of sortByKey(groups).entries()) {
      const ordered = sortByKey(positions);
      const rank = ordered.findIndex(([index], position) => index !== position);
      const [, position] = ordered[rank] ?? [];
      if (position !== undefined) {
        fault(position, `a row is missing: group ${groupIndex} has no trajectory_index ${rank}`);
      }
      if (groupIndex === at) continue;
      fault(first, `rows are missing: there is no group_index ${at}`);
      break;
    }
  };

  /** True if a row has another version. The first of a file says it for all. @throws Unfit */
  const isRefused = ({ value: row, file, position }: SourceRecord): boolean => {
    const own = row.get("format_version");
    if (own?.number === supportedVersion) return false;
    const first = firstRefused.get(file) ?? position;
    firstRefused.set(file, first);
    if (first !== position) return true;
    const wrong =
      own === undefined || own.number === 1
        ? "it is version 1, which records neither finish_reason nor logprobs"
        : `it is version ${own.raw}`;
    throw new ConversionError(`${wrong}: only version ${supportedVersion} is read`, own ?? row);
  };

  return {
    previewColumns: lookAtColumns,
    convert: (record) => {
      const { value: row, file, position } = record;
      if (isRefused(record)) return [];
      findMissing(file);
      const groupIndex = requireKey(row, "group_index");
      const group = groupIndex.raw;
      return withGroup(group, () => {
        if (!Number.isInteger(groupIndex.number))
          throw new ConversionError("group_index is no whole number", groupIndex);
        const fault = faults.get(`${file} ${position}`);
        if (fault !== undefined) throw new ConversionError(fault, row);
        const own = requireObject(requireKey(row, "group_json"));
        const inside = own.get("trajectories");
        if (inside !== undefined) {
          throw new ConversionError("group_json holds trajectories, which have rows of their own", inside);
        }
        return [{ group, members: own.members(), ...rolloutOf(run, row, own) }];
      });
    },
  };
};

const rolloutOf = (run: FormatRun, row: Value, group: Value): Partial<Rollout> => {
  const [index, text] = [row.get("trajectory_index"), row.get("trajectory_json")];
  const also = () => listRepeatedColumns(row, group, text?.embeddedJson);
  if (index === undefined) {
    if (text !== undefined) throw new ConversionError("trajectory_index is missing beside trajectory_json", row);
    return { repeatedValues: also, identityValues: [group] };
  }
  if (!Number.isInteger(index.number)) throw new ConversionError("trajectory_index is no whole number", index);
  const trajectory = requireObject(text ?? requireKey(row, "trajectory_json"));
  refuseExchanges(trajectory);
  const { rewardFrom, rewards } = run.options;
  const ids = [`${row.get("group_index")?.raw}/${index.raw}`];
  const { reward, identity } = findReward(run, { record: trajectory, ids, own: trajectory.get("reward") });
  const isOwn = rewardFrom === undefined && rewards === undefined;
  const known = [group, trajectory];
  return {
    index: index.number,
    identity,
    identityValues: known,
    repeatedValues: also,
    trajectory: completeTrajectory(trajectory, isOwn ? {} : { reward }),
  };
};

const numberIn = (value: unknown): number | undefined =>
  typeof value === "number" || typeof value === "bigint" ? Number(value) : undefined;

const sortByKey = <Of>(map: ReadonlyMap<number, Of>) => [...map].sort(([a], [b]) => a - b);

/** The JSON object in a text. @throws Unfit */
const requireObject = (value: Value): Value => {
  const own = value.embeddedJson;
  if (own?.isObject !== true) throw new ConversionError("it holds no JSON object", value);
  return own;
};

/** Newer writers can have whole exchanges with the model instead of messages. @throws Unfit */
const refuseExchanges = (trajectory: Value): void => {
  const exchanges = trajectory.get("exchanges");
  const lists = exchanges === undefined ? [] : [exchanges, ...exchanges.members().map(([, one]) => one)];
  if (!lists.some((one) => one.items().length > 0) || exchanges === undefined) return;
  throw new ConversionError("exchanges are not read: only messages_and_choices are", exchanges);
};

/** A trajectory byte for byte, except members of our own. Its writer omits messages_and_choices if there are none. */
const completeTrajectory = (trajectory: Value, own: Readonly<Record<string, OutputJson>>): OutputJson => {
  const lacks = (holder: Value): boolean => holder.isObject && holder.get("messages_and_choices") === undefined;
  const none = { messages_and_choices: list([]) };
  const histories = trajectory.get("additional_histories")?.items() ?? [];
  const made: Record<string, OutputJson> = { ...own, ...(lacks(trajectory) ? none : {}) };
  if (histories.some(lacks)) {
    made.additional_histories = list(histories.map((one) => (lacks(one) ? replaceMembers(one, none) : one)));
  }
  return Object.keys(made).length === 0 ? trajectory : replaceMembers(trajectory, made);
};

/** Columns that tell rows apart, and columns for queries that repeat the JSON, each with the place of what it says. */
function* listRepeatedColumns(
  row: Value,
  group: Value,
  trajectory: Value | undefined,
): Generator<readonly [value: Value, to: string]> {
  const columnTargets = { format_version: "group", group_index: "group", trajectory_index: "group.trajectories[]" };
  for (const [column, to] of Object.entries(columnTargets)) {
    const value = row.get(column);
    if (value !== undefined) yield [value, to];
  }
  const json = row.get("group_json");
  if (json !== undefined && group.members().length === 0) yield [json, "group"];
  const queries: readonly (readonly [column: string, to: string, said: unknown])[] = [
    ["group_metadata", "group.metadata", jsonOf(group.get("metadata"))],
    ["group_metrics", "group.metrics", jsonOf(group.get("metrics"))],
    ["group_logs", "group.logs", textsOf(group.get("logs"))],
    ["reward", "trajectory.reward", trajectory?.get("reward")?.number],
    ["metrics", "trajectory.metrics", jsonOf(trajectory?.get("metrics"))],
    ["metadata", "trajectory.metadata", jsonOf(trajectory?.get("metadata"))],
    ["tools", "trajectory.tools", jsonOf(trajectory?.get("tools"))],
    ["logs", "trajectory.logs", textsOf(trajectory?.get("logs"))],
    ["messages", "trajectory.messages_and_choices", messagesOf(trajectory)],
  ];
  for (const [column, to, said] of queries) {
    const value = row.get(column);
    if (value !== undefined && isDeepStrictEqual(parseNestedJson(value.data), parseNestedJson(said))) yield [value, to];
  }
}

/** A value with the JSON in its texts parsed: writers put white space into it as they like. */
const parseNestedJson = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(parseNestedJson);
  if (isObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, parseNestedJson(one)]));
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
  const json = parseJson(value);
  return json === undefined ? value : json.value;
};

const jsonOf = (value: Value | undefined): string | undefined =>
  value === undefined || (value.items().length === 0 && value.members().length === 0) ? undefined : value.raw;

const textsOf = (value: Value | undefined): readonly string[] | undefined => {
  const items = value?.items() ?? [];
  const texts = items.flatMap(({ text }) => text ?? []);
  return texts.length === 0 || texts.length !== items.length ? undefined : texts;
};

/** The messages flat; undefined if the content of one is not a text. */
const messagesOf = (trajectory: Value | undefined): readonly object[] | undefined => {
  if (trajectory === undefined) return undefined;
  const messages = (trajectory.get("messages_and_choices")?.items() ?? []).map((item) => {
    const trainable = item.members().some(([key]) => key === "finish_reason");
    const message = trainable ? item.get("message") : item;
    return { message, trainable };
  });
  if (messages.some(({ message }) => message?.get("content")?.isText === false)) return undefined;
  return messages.map(({ message, trainable }) => {
    const members = {
      role: message?.textAt("role"),
      content: message?.textAt("content"),
      tool_calls: jsonOf(message?.get("tool_calls")),
      tool_call_id: trainable ? undefined : message?.textAt("tool_call_id"),
      trainable,
    };
    return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
  });
};
