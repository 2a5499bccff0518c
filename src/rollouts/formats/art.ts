/** Converts ART's Parquet files of version 2, and its lines with exchanges. */
import { type Json, literal, replaceMembers } from "../../json/output-json.ts";
import { Value } from "../../json/value.ts";
import { hasExchanges, joinExchanges } from "./art-exchanges.ts";
import { convertPart, findReward } from "./build-trajectory.ts";
import type { Converter, Format, FormatRun, Rollout, SourceRecord } from "./format.ts";

export const art: Format = {
  name: "art",
  title: "ART's Parquet, or lines with exchanges",
  keys: {
    group: "the rows with the same group_index, or a line",
    reward: "`reward`",
    sampled: "the choices in the file, or the responses of exchanges",
  },
  records: {
    text: "lines",
    parquet: ["format_version", "group_index", "trajectory_index", "group_json", "trajectory_json", "reward"],
    longText: "trajectory_json",
  },
  isGrouped: true,
  recognizes: ({ value }, isGiven) =>
    (value.has("group_index") && (value.has("group_json") || value.has("messages", 0, "trainable"))) ||
    (isGiven && [value, ...value.items("trajectories")].some(hasExchanges)) ||
    isFailedGroup(value),
  open: (run) => openRows(run),
};

/** ART omits the empty list of trajectories. */
const isFailedGroup = (line: Value) =>
  line.items("exceptions").some((exception) => exception.has("message")) &&
  line.members().every(([key]) => /^(?:exceptions|group_id|logs|metadata|metrics)$/.test(key));

const supportedVersion = 2;
const migration =
  "write the file again with read_trajectory_groups_parquet and write_trajectory_groups_parquet of art.utils.trajectory_logging";

const openRows = (run: FormatRun): Converter => {
  /** The last group_json, which all rows of a group repeat. */
  let last: { json: string; object?: Value } = { json: "" };
  return {
    convert: (record) => {
      const { value: row, file } = record;
      if (!row.has("group_index")) return convertLine(run, record);
      if (!hasSupportedVersion(run, record)) return [];
      const groupIndex = row.require("group_index");
      const { raw, number = Number.NaN } = groupIndex;
      record.group = { key: raw, by: "group_index" };
      if (!Number.isInteger(number)) throw groupIndex.error("group_index is not an integer");
      const index = row.get("trajectory_index");
      if (index) record.id = `${file} ${raw}/${index.raw}`;
      const json = row.textAt("group_json") ?? "";
      if (json !== last.json) last = { json };
      // The values of each row are counted, so the cached object cannot be used.
      if (run.unread) delete last.object;
      last.object ??= requireObject(row.require("group_json"));
      const groupJson = last.object;
      const trajectories = groupJson.get("trajectories");
      if (trajectories) throw trajectories.error("group_json contains trajectories");
      return [{ members: groupJson.members(), ...convertRollout(run, row, groupJson) }];
    },
  };
};

/** Returns false for further rows of a file whose first row had an unsupported version. @throws ConversionError */
const hasSupportedVersion = (run: FormatRun, record: SourceRecord) => {
  const { value: row, file } = record;
  const version = row.get("format_version");
  if (version?.number === supportedVersion) return true;
  if (!run.isFirst(file, record)) return false;
  const isVersion1 = !version || version.number === 1;
  const found = isVersion1 ? `version 1, without finish_reason and logprobs (${migration})` : `version ${version.raw}`;
  throw (version ?? row).error(`expected version ${supportedVersion}, found ${found}`);
};

const convertRollout = (run: FormatRun, row: Value, group: Value) => {
  const [index, text] = [row.get("trajectory_index"), row.get("trajectory_json")];
  if (!index) {
    if (text) throw row.error("the row has trajectory_json, but no trajectory_index");
    keepColumns(run, row);
    return { identityValues: [group] };
  }
  if (!Number.isInteger(index.number)) throw index.error("trajectory_index is not an integer");
  const trajectory = requireObject(text ?? row.require("trajectory_json"));
  // ART leaves out a reward of 0, but not its column.
  const recorded = trajectory.get("reward") ?? row.get("reward");
  const ids = [`${row.get("group_index")?.raw}/${index.raw}`];
  const { reward, identity } = findReward(run, { record: trajectory, ids, readOwn: () => recorded });
  keepColumns(run, row);
  return {
    index: index.number,
    identity,
    identityValues: [group, trajectory],
    trajectory: completeTrajectory(run, trajectory, reward),
  };
};

/** A line is a group or a trajectory. A group of failed rollouts has no list of trajectories. */
const convertLine = (run: FormatRun, record: SourceRecord): readonly Rollout[] => {
  const { value, position } = record;
  const isTrajectory = value.hasAny("messages_and_choices", "exchanges", "reward");
  const isGroup = value.has("trajectories") || (value.has("exceptions") && !isTrajectory);
  const id = value.get("group_id")?.raw;
  const group = { key: id ?? `line ${position}`, by: id === undefined ? "line" : "group_id" };
  record.group = group;
  const members = isGroup ? value.members().filter(([key]) => !["trajectories", "exceptions"].includes(key)) : [];
  const convertOne = (trajectory: Value) => {
    const readOwn = () => trajectory.get("reward") ?? literal(0);
    const { reward, identity } = findReward(run, { record: trajectory, ids: [trajectory.get("id")], readOwn });
    return { members, identity, trajectory: completeTrajectory(run, trajectory, reward) };
  };
  if (!isGroup && !isTrajectory) throw value.error("the line is neither a group nor a trajectory");
  const listed = value.has("trajectories") ? value.requireItems("trajectories") : [];
  const trajectories = isGroup ? listed : [value];
  const rollouts = trajectories.map((trajectory) => convertPart(trajectory, { group }, () => convertOne(trajectory)));
  const exceptions = isGroup ? value.items("exceptions") : [];
  return [...rollouts, ...exceptions.map((exception) => ({ group, part: exception, members, exception }))];
};

const requireObject = (value: Value) => {
  const object = value.embeddedJson;
  if (object?.isObject !== true) throw value.error("the string is not a JSON object");
  return object;
};

/** ART omits an empty messages_and_choices. Newer versions record exchanges instead. */
const completeTrajectory = (run: FormatRun, trajectory: Value, reward: Json) => {
  const isOwn = reward instanceof Value && reward.id === trajectory.get("reward")?.id;
  const replaced = isOwn ? {} : { reward };
  if (hasExchanges(trajectory)) return replaceMembers(trajectory, { ...replaced, ...joinExchanges(run, trajectory) });
  const lacks = (holder: Value) => holder.isObject && !holder.has("messages_and_choices");
  const noMessages = { messages_and_choices: [] };
  const histories = trajectory.items("additional_histories");
  const changes: Record<string, Json> = { ...replaced, ...(lacks(trajectory) ? noMessages : {}) };
  if (histories.some(lacks))
    changes.additional_histories = histories.map((item) => (lacks(item) ? replaceMembers(item, noMessages) : item));
  return Object.keys(changes).length === 0 ? trajectory : replaceMembers(trajectory, changes);
};

/** The other columns are for queries, and repeat the JSON. */
const keepColumns = ({ unread }: FormatRun, row: Value) => {
  for (const [column, value] of unread ? row.members() : [])
    if (!["group_json", "trajectory_json"].includes(column)) unread?.keep(value);
};
