/** Rows of TRL: a prompt with its completion, or with the completions of a whole group and their rewards. */
import {
  type Format,
  type FormatRun,
  type GroupKey,
  needed,
  type Rollout,
  rewardOf,
  type SourceRecord,
  Unfit,
} from "./format.ts";
import { groupKeyFound, groupKeyOf, groupOf, numberOf, rolloutOf } from "./rows.ts";
import { givenTurns, sampledTurns } from "./turns.ts";
import type { Value } from "./value.ts";

export const trl: Format = {
  name: "trl",
  title: "rows of TRL",
  keys: {
    group: `${groupKeyFound}; a row of completions is one`,
    reward: "reward, or rewards",
    sampled: "the assistant's turns of completion",
  },
  records: { text: "lines", parquet: true },
  recognises: ({ value }) =>
    isTurns(value.get("prompt")) &&
    (value.get("completions")?.isList === true ||
      (isTurns(value.get("completion")) && !verifiers.some((key) => value.get(key) !== undefined))),
  open: (run) => ({ convert: (record) => rolloutsOf(run, record) }),
  left: {
    metadata: "the trajectory's metadata holds no nested values",
    metrics: "metrics are numbers and truth values",
    "tools[]": "only function tools have a place",
  },
};

const isTurns = (value: Value | undefined): boolean => value?.isText === true || value?.isList === true;

/** Keys that results of verifiers have beside a prompt and a completion. */
const verifiers = ["task", "answer", "info", "metrics", "example_id"];

const placed: ReadonlySet<string> = new Set(["prompt", "completion", "completions", "reward", "rewards", "tools"]);

const rolloutsOf = (run: FormatRun, { value: row, position }: SourceRecord): readonly Rollout[] => {
  const key = groupKeyOf(row);
  const prompt = needed(row, "prompt", key);
  const completions = row.get("completions");
  if (completions !== undefined) return groupRollouts(run, row, { prompt, completions, group: `row ${position}` });
  const group = groupOf(row, [prompt], key);
  const own = numberOf(row, "reward", group);
  const judged = rewardOf(run, { record: row, ids: [row.get("id")], own, group });
  const completion = needed(row, "completion", group);
  const turns = [
    ...givenTurns(run, prompt, { group, name: "prompt" }),
    ...sampledTurns(run, completion, { group, name: "completion" }),
  ];
  return [rolloutOf(row, { group, judged, turns, placed })];
};

/** A row that is a group: each completion with its reward; what else the row has a list of, one for each, goes along. */
const groupRollouts = (
  run: FormatRun,
  row: Value,
  { prompt, completions, group }: { readonly prompt: Value; readonly completions: Value; readonly group: GroupKey },
): readonly Rollout[] => {
  const labels = row.get("labels");
  if (labels !== undefined) {
    throw new Unfit("labels beside completions are of the steps of one solution, and no rewards", labels, group);
  }
  if (!completions.isList) throw new Unfit("completions is no list", completions, group);
  const rewards = row.get("rewards");
  const count = completions.items().length;
  if (rewards !== undefined && rewards.items().length !== count) {
    throw new Unfit(`rewards is no list of ${count}, one for each of completions`, rewards, group);
  }
  const alike = row.members().filter(([key, list]) => !placed.has(key) && list.items().length === count);
  return completions.items().map((completion, at) => {
    const judged = rewardAt(run, { row, rewards, at, group });
    const more = alike.flatMap(([key, list]): [string, Value][] => {
      const one = list.items()[at];
      return one === undefined ? [] : [[key, one]];
    });
    const turns = [
      ...givenTurns(run, prompt, { group, name: "prompt" }),
      ...sampledTurns(run, completion, { group, name: `completions[${at}]` }),
    ];
    return rolloutOf(row, { group, judged, turns, placed, more });
  });
};

const rewardAt = (
  run: FormatRun,
  {
    row,
    rewards,
    at,
    group,
  }: {
    readonly row: Value;
    readonly rewards: Value | undefined;
    readonly at: number;
    readonly group: GroupKey;
  },
): ReturnType<typeof rewardOf> => {
  const { asked } = run;
  const own = rewards?.items()[at];
  if (own !== undefined && own.number === undefined) throw new Unfit(`rewards[${at}] is no number`, own, group);
  // Where the person says which list the rewards are in, each has its own of it.
  const rewardFrom = asked.rewardFrom === undefined ? undefined : [...asked.rewardFrom, at];
  const id = row.get("id");
  const ids = [id === undefined ? undefined : `${id.text ?? id.raw}/${at}`];
  return rewardOf({ ...run, asked: { ...asked, rewardFrom } }, { record: row, ids, own, group });
};
