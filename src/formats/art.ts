/** ART's Parquet, version 2: a trajectory a row, with the JSON of it and of its group, and columns for queries that say it again. */
import { hash } from "node:crypto";
import { saidAgain } from "./art-columns.ts";
import { type Built, list, replaced } from "./built.ts";
import { type Format, type FormatRun, needed, type Rollout, rewardOf, type SourceRecord, Unfit } from "./format.ts";
import type { Value } from "./value.ts";

export const art: Format = {
  name: "art",
  title: "ART's Parquet",
  keys: { group: "group_index", reward: "reward", sampled: "choices" },
  records: { parquet: true },
  columns: ["format_version", "group_index", "trajectory_index", "group_json", "trajectory_json"],
  looksAt: ["format_version", "group_index", "trajectory_index", "group_json"],
  recognises: ({ value }) =>
    value.get("group_index") !== undefined &&
    (value.get("group_json") !== undefined || value.get("messages", 0, "trainable") !== undefined),
  open: (run) => new Rows(run),
  left: Object.fromEntries(
    ["group_metadata", "group_metrics", "group_logs", "reward", "metrics", "metadata", "tools", "logs", "messages"].map(
      (column) => [column, "a column for queries: group_json and trajectory_json count, and say otherwise"],
    ),
  ),
};

/** The version that is read. */
const version = 2;

/** What was seen of a group: where its rows are, and what they say. */
interface Seen {
  readonly positions: Map<number, number>;
  readonly texts: Set<string>;
  readonly first: number;
  empty: number;
}

class Rows {
  readonly #run: FormatRun;
  readonly #files = new Map<string, Map<number, Seen>>();
  readonly #faults = new Map<string, string>();
  readonly #refused = new Map<string, number>();
  /** The JSON of a group that was seen last, and its digest. */
  #json: string | undefined;
  #digest = "";

  constructor(run: FormatRun) {
    this.#run = run;
  }

  /** Rows may stand in any order, so that only all of them tell whether one is missing. */
  look({ value: row, file, position }: SourceRecord): void {
    const groupIndex = row.numberAt("group_index");
    if (row.numberAt("format_version") !== version || groupIndex === undefined) return;
    const groups = this.#files.get(file) ?? new Map<number, Seen>();
    this.#files.set(file, groups);
    const seen: Seen = groups.get(groupIndex) ?? { positions: new Map(), texts: new Set(), first: position, empty: 0 };
    groups.set(groupIndex, seen);
    const fault = (wrong: string): void => void this.#faults.set(`${file} ${position}`, wrong);
    const index = row.numberAt("trajectory_index");
    if (index === undefined) seen.empty++;
    else if (seen.positions.has(index)) fault(`trajectory_index ${index} stands twice in group ${groupIndex}`);
    else seen.positions.set(index, position);
    if (seen.positions.size > 0 ? seen.empty > 0 : seen.empty > 1) {
      fault(`a row says that group ${groupIndex} has no trajectories, and it has another row`);
    }
    seen.texts.add(this.#digestOf(row.textAt("group_json") ?? ""));
    if (seen.texts.size > 1) fault(`group_json says something else than in another row of group ${groupIndex}`);
  }

  /** A digest of the JSON of a group, which its rows repeat. */
  #digestOf(json: string): string {
    if (json !== this.#json) [this.#json, this.#digest] = [json, hash("sha256", json)];
    return this.#digest;
  }

  convert(record: SourceRecord): readonly Rollout[] {
    const { value: row, file, position } = record;
    if (this.#isRefused(record)) return [];
    this.#judge(file);
    const groupIndex = needed(row, "group_index");
    const group = groupIndex.raw;
    if (!Number.isInteger(groupIndex.number)) throw new Unfit("group_index is no whole number", groupIndex, group);
    const fault = this.#faults.get(`${file} ${position}`);
    if (fault !== undefined) throw new Unfit(fault, row, group);
    const own = objectIn(needed(row, "group_json", group), group);
    const inside = own.get("trajectories");
    if (inside !== undefined)
      throw new Unfit("group_json holds trajectories, which have rows of their own", inside, group);
    return [{ group, members: own.members(), ...this.#rollout(row, { group, own }) }];
  }

  /** Whether a row is of another version: the first one of a file says it for all. @throws Unfit */
  #isRefused({ value: row, file, position }: SourceRecord): boolean {
    if (row.numberAt("format_version") === version) return false;
    const own = row.get("format_version");
    const first = this.#refused.get(file) ?? position;
    this.#refused.set(file, first);
    if (first !== position) return true;
    const wrong =
      own === undefined || own.number === 1
        ? "it is version 1, which records neither finish_reason nor logprobs"
        : `it is version ${own.raw}`;
    throw new Unfit(`${wrong}: only version ${version} is read`, own ?? row);
  }

  #rollout(
    row: Value,
    { group, own }: { readonly group: string; readonly own: Value },
  ): Omit<Rollout, "group" | "members"> {
    const [index, text] = [row.get("trajectory_index"), row.get("trajectory_json")];
    const also = () => saidAgain(row, { group: own, trajectory: text?.inner });
    if (index === undefined) {
      if (text !== undefined) throw new Unfit("trajectory_index is missing beside trajectory_json", row, group);
      return { also, known: [own] };
    }
    if (!Number.isInteger(index.number)) throw new Unfit("trajectory_index is no whole number", index, group);
    const trajectory = objectIn(text ?? needed(row, "trajectory_json", group), group);
    refuseExchanges(trajectory, group);
    const { rewardFrom, rewards } = this.#run.asked;
    const ids = [`${group}/${index.raw}`];
    const { reward, identity } = rewardOf(this.#run, { record: trajectory, ids, own: trajectory.get("reward"), group });
    return {
      index: index.number,
      identity,
      known: [own, trajectory],
      also,
      trajectory: whole(trajectory, rewardFrom === undefined && rewards === undefined ? {} : { reward }),
    };
  }

  /** Says of groups once what all rows of the file tell. */
  #judge(file: string): void {
    const groups = this.#files.get(file);
    if (groups === undefined) return;
    this.#files.delete(file);
    const fault = (position: number, wrong: string): void => void this.#faults.set(`${file} ${position}`, wrong);
    for (const [at, [groupIndex, { positions, first }]] of inOrder(groups).entries()) {
      for (const [rank, [index, position]] of inOrder(positions).entries()) {
        if (index !== rank) fault(position, `a row is missing: group ${groupIndex} has no trajectory_index ${rank}`);
        if (index !== rank) break;
      }
      if (groupIndex === at) continue;
      fault(first, `rows are missing: there is no group_index ${at}`);
      break;
    }
  }
}

const inOrder = <Of>(map: ReadonlyMap<number, Of>) => [...map].sort(([a], [b]) => a - b);

/** The JSON object in a text. @throws Unfit */
const objectIn = (text: Value, group: string): Value => {
  const { inner } = text;
  if (inner?.isObject !== true) throw new Unfit("it holds no JSON object", text, group);
  return inner;
};

/** Newer writers may keep whole exchanges with the model in place of messages. @throws Unfit */
const refuseExchanges = (trajectory: Value, group: string): void => {
  const exchanges = trajectory.get("exchanges");
  const lists = exchanges === undefined ? [] : [exchanges, ...exchanges.members().map(([, one]) => one)];
  if (!lists.some((one) => one.items().length > 0) || exchanges === undefined) return;
  throw new Unfit("exchanges are not read: only messages_and_choices are", exchanges, group);
};

/** A trajectory byte for byte, but for members of our own; its writer leaves messages_and_choices out where there are none. */
const whole = (trajectory: Value, own: Readonly<Record<string, Built>>): Built => {
  const lacks = (holder: Value): boolean => holder.isObject && holder.get("messages_and_choices") === undefined;
  const none = { messages_and_choices: list([]) };
  const histories = trajectory.get("additional_histories")?.items() ?? [];
  const made: Record<string, Built> = { ...own, ...(lacks(trajectory) ? none : {}) };
  if (histories.some(lacks)) {
    made.additional_histories = list(histories.map((one) => (lacks(one) ? replaced(one, none) : one)));
  }
  return Object.keys(made).length === 0 ? trajectory : replaced(trajectory, made);
};
