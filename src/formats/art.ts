/** ART's Parquet, version 2: one trajectory per row, with its JSON and that of its group, and columns for queries. */
import { hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Converter, Format, FormatRun, RecordFault, Rollout, SourceRecord } from "./format.ts";
import { type OutputJson, replaceMembers } from "./output-json.ts";
import { findReward } from "./rollout.ts";
import { ConversionError, type Value } from "./value.ts";

export const art: Format = {
  name: "art",
  title: "ART's Parquet",
  keys: { group: "group_index", reward: "reward", sampled: "the recorded choices" },
  records: { parquet: true },
  columns: ["format_version", "group_index", "trajectory_index", "group_json", "trajectory_json"],
  jsonColumns: ["trajectory_json"],
  recognizes: ({ value }) =>
    value.get("group_index") !== undefined &&
    (value.get("group_json") !== undefined || value.get("messages", 0, "trainable") !== undefined),
  open: (run) => openRows(run),
  leftOutReasons: [
    [
      "the column differs from group_json or trajectory_json, which are converted",
      "group_metadata group_metrics group_logs reward metrics metadata tools logs messages",
    ],
  ],
};

const supportedVersion = 2;

interface GroupRows {
  readonly file: string;
  readonly key: string;
  /** The positions of rows by `trajectory_index`. */
  readonly positions: Map<number, number>;
  /** Digest of `group_json`. */
  readonly digest: string;
  readonly first: number;
  empty: number;
}

const openRows = (run: FormatRun): Converter => {
  const files = new Map<string, Map<number, GroupRows>>();
  const faults: RecordFault[] = [];
  const firstUnsupported = new Map<string, number>();
  /** Caches the digest, because the rows of a group repeat its JSON. */
  let last = { json: "", digest: "" };

  const addRow = (row: Value, { file, position }: SourceRecord, groupIndex: number): void => {
    const json = row.textAt("group_json") ?? "";
    if (json !== last.json) last = { json, digest: hash("sha256", json) };
    const groups = files.get(file) ?? new Map<number, GroupRows>();
    files.set(file, groups);
    const key = String(groupIndex);
    const none = { positions: new Map<number, number>(), empty: 0 };
    const group = groups.get(groupIndex) ?? { file, key, ...none, digest: last.digest, first: position };
    groups.set(groupIndex, group);
    const { positions } = group;
    const fault = (wrong: string) => faults.push({ file, position, group: key, wrong });
    const index = row.get("trajectory_index")?.number;
    if (index === undefined) group.empty++;
    else if (positions.has(index)) fault(`trajectory_index ${index} appears twice in group ${groupIndex}`);
    else positions.set(index, position);
    if (positions.size > 0 ? group.empty > 0 : group.empty > 1) {
      fault(`group ${groupIndex} has other rows in addition to its row without a trajectory`);
    }
    if (group.digest !== last.digest) fault(`group_json differs from that of another row of group ${groupIndex}`);
  };

  /** Returns the rows before which rows are missing. */
  function* findMissing(groups: ReadonlyMap<number, GroupRows>): Generator<RecordFault, void> {
    for (const [at, [groupIndex, { file, key: group, positions, first }]] of sortByKey(groups).entries()) {
      const ordered = sortByKey(positions);
      const rank = ordered.findIndex(([index], position) => index !== position);
      const [, position] = ordered[rank] ?? [];
      const missing = `group ${groupIndex} has no row with trajectory_index ${rank}`;
      if (position !== undefined) yield { file, position, group, wrong: missing };
      if (groupIndex !== at) return yield { file, position: first, group, wrong: `no row has group_index ${at}` };
    }
  }

  /** True if a row has another version. @throws ConversionError for the first row of a file */
  const isUnsupported = ({ value: row, file, position }: SourceRecord): boolean => {
    const own = row.get("format_version");
    if (own?.number === supportedVersion) return false;
    const first = firstUnsupported.get(file) ?? position;
    firstUnsupported.set(file, first);
    if (first !== position) return true;
    const isFirst = own === undefined || own.number === 1;
    const found = isFirst ? "version 1, without finish_reason and logprobs" : `version ${own.raw}`;
    throw new ConversionError(`expected version ${supportedVersion}, found ${found}`, own ?? row);
  };

  return {
    convert: (record) => {
      const { value: row } = record;
      if (isUnsupported(record)) return [];
      const groupIndex = row.require("group_index");
      const { raw, number } = groupIndex;
      record.group = raw;
      if (number === undefined || !Number.isInteger(number))
        throw new ConversionError("group_index is not an integer", groupIndex);
      addRow(row, record, number);
      const own = requireObject(row.require("group_json"));
      const inside = own.get("trajectories");
      if (inside !== undefined) throw new ConversionError("group_json contains trajectories", inside);
      return [{ members: own.members(), ...rolloutOf(run, row, own) }];
    },
    findFaults: () => [...faults, ...[...files.values()].flatMap((groups) => [...findMissing(groups)])],
  };
};

const rolloutOf = (run: FormatRun, row: Value, group: Value): Rollout => {
  const [index, text] = [row.get("trajectory_index"), row.get("trajectory_json")];
  const also = () => listRepeatedColumns(row, group, text?.embeddedJson);
  if (index === undefined) {
    if (text !== undefined) throw new ConversionError("trajectory_json has no trajectory_index", row);
    return { repeatedValues: also, identityValues: [group] };
  }
  if (!Number.isInteger(index.number)) throw new ConversionError("trajectory_index is not an integer", index);
  const trajectory = requireObject(text ?? row.require("trajectory_json"));
  refuseExchanges(trajectory);
  const own = trajectory.get("reward");
  const ids = [`${row.get("group_index")?.raw}/${index.raw}`];
  const { reward, identity } = findReward(run, { record: trajectory, ids, own: () => own });
  const known = [group, trajectory];
  return {
    index: index.number,
    identity,
    identityValues: known,
    repeatedValues: also,
    trajectory: completeTrajectory(trajectory, reward === own ? {} : { reward }),
  };
};

const sortByKey = <Of>(map: ReadonlyMap<number, Of>) => [...map].sort(([a], [b]) => a - b);

const requireObject = (value: Value): Value => {
  const own = value.embeddedJson;
  if (own?.isObject !== true) throw new ConversionError("the string is not a JSON object", value);
  return own;
};

/** Newer writers can record exchanges with the model instead of messages. @throws ConversionError */
const refuseExchanges = (trajectory: Value): void => {
  const exchanges = trajectory.get("exchanges");
  if (exchanges === undefined) return;
  const lists = [exchanges, ...exchanges.members().map(([, one]) => one)];
  if (!lists.some((one) => one.items().length > 0)) return;
  throw new ConversionError("exchanges are not supported, only messages_and_choices", exchanges);
};

/** Keeps the bytes of a trajectory, except replaced members. Its writer omits empty messages_and_choices. */
const completeTrajectory = (trajectory: Value, own: Readonly<Record<string, OutputJson>>): OutputJson => {
  const lacks = (holder: Value): boolean => holder.isObject && holder.get("messages_and_choices") === undefined;
  const none = { messages_and_choices: [] };
  const histories = trajectory.items("additional_histories");
  const made: Record<string, OutputJson> = { ...own, ...(lacks(trajectory) ? none : {}) };
  if (histories.some(lacks)) {
    made.additional_histories = histories.map((one) => (lacks(one) ? replaceMembers(one, none) : one));
  }
  return Object.keys(made).length === 0 ? trajectory : replaceMembers(trajectory, made);
};

/** Columns that identify rows, and the messages without choices, each with its target. */
const columnTargets = {
  format_version: "group",
  group_index: "group",
  trajectory_index: "group.trajectories[]",
  messages: "trajectory.messages_and_choices",
};

/** Returns columns that identify rows, and columns that repeat a value of the JSON, each with the path of the value. */
function* listRepeatedColumns(
  row: Value,
  group: Value,
  trajectory: Value | undefined,
): Generator<readonly [value: Value, to: string]> {
  for (const [column, to] of Object.entries(columnTargets)) {
    const value = row.get(column);
    if (value !== undefined) yield [value, to];
  }
  const json = row.get("group_json");
  if (json !== undefined && group.members().length === 0) yield [json, "group"];
  const queries: readonly (readonly [column: string, to: string, data: unknown])[] = [
    ...["metadata", "metrics", "logs"].map((key) => [`group_${key}`, `group.${key}`, group.get(key)?.data] as const),
    ...["reward", "metrics", "metadata", "tools", "logs"].map(
      (key) => [key, `trajectory.${key}`, trajectory?.get(key)?.data] as const,
    ),
  ];
  for (const [column, to, data] of queries) {
    const value = row.get(column);
    if (value !== undefined && isDeepStrictEqual((value.embeddedJson ?? value).data, data)) yield [value, to];
  }
}
