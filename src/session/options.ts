/** Defines options of several commands. */

import * as cli from "../cli/kinds.ts";
import { toOptionArgs } from "../text/sentences.ts";
import { reject } from "../text/units.ts";

export const formatOptions = cli.inGroup("formats", {
  from: cli.text("format of the files: rollcall, inspect, trl, …", "format", { default: "auto" }),
  "reward-from": cli.text("path of the reward in a record, such as scores.correct.value", "path"),
  rewards: cli.text('file with the rewards of the records: lines of {"id", "reward"}', "file"),
});

export const strictnessOptions = cli.inGroup("checks", {
  strict: cli.flag("treat warnings as errors"),
  allow: cli.repeated("silence this rule", "rule"),
});

/** The value is undefined if the option is not given. */
export const groupByOption = {
  ...cli.custom(
    "group trajectories at any position by these keys, such as prompt_id or step,prompt_id",
    "keys",
    cli.splitAtCommas,
  ),
  repeatable: true,
};

export type InputOptions = cli.Values<typeof formatOptions> &
  Partial<cli.Values<typeof strictnessOptions>> & {
    readonly file: readonly string[];
    readonly pass?: number;
    readonly groupBy: readonly string[] | undefined;
    readonly onInvalid?: "stop" | "skip" | undefined;
  };

/** The options that say what a file contains, of a command that rollcall proposes for the same input. */
export const listInputArgs = (typed: Partial<InputOptions>) => {
  const { groupBy, from, rewardFrom, rewards } = typed;
  return toOptionArgs({ groupBy, from, rewardFrom, rewards });
};

export const outputFile = (about: string, facts?: cli.OptionFacts) => cli.custom(about, "file", parseOutputFile, facts);

const parseOutputFile = (word: string) => {
  if (word !== "-" && word !== "") return word;
  return reject("the name of a file, because standard output is for the result");
};

export const rejectsOption = outputFile("file for rejected groups", {
  default: "the name of the first input plus .rejected",
});
export const trajectoryFiles = cli.repeated(
  "files or folders of groups or trajectories, or - for standard input (the default)",
);
export const rolloutFiles = cli.repeated("files or folders of rollouts, or - for standard input (the default)");
export const ledgerOption = cli.text("file or database (postgres://…) that records the requests", "file", {
  default: "ledger.db in the data folder",
});

export const reportOption = cli.choice("annotations for GitHub Actions, and the summary of the job", ["github"]);

const parseNumber = (word: string) => {
  const reward = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(word) ? Number(word) : Number.NaN;
  if (Number.isFinite(reward)) return reward;
  return reject("a number such as 1 or 0.5");
};

const maxTries = 1_000_000;
const defaultTries: readonly number[] = [1, 2, 4, 8];

const parseTries = (word: string) => {
  const tries = /^[1-9]\d{0,6}$/.test(word) ? Number(word) : 0;
  if (tries >= 1 && tries <= maxTries) return tries;
  return reject("whole numbers such as 1,2,4,8 (at most 1000000)");
};

export const solvedOptions = cli.inGroup("solved", {
  pass: cli.withDefault(cli.custom("reward from which a trajectory is solved", "reward", parseNumber), "1"),
  k: { ...cli.commaList("numbers of tries of pass@k", "numbers", parseTries), default: String(defaultTries) },
});

/** Options of commands that compute statistics. */
export const statisticsOptions = {
  ...cli.inGroup("exceptions", {
    "exceptions-as": cli.custom("count each exception as a trajectory with this reward", "reward", parseNumber),
  }),
  "on-invalid": cli.withDefault(
    cli.choice("with skip, exit with 0 if some groups are invalid", ["stop", "skip"]),
    "stop",
  ),
};

/** Returns the numbers of tries of pass@k, ascending. */
export const readTries = (typed: readonly number[]): readonly number[] =>
  typed.length === 0 ? defaultTries : [...new Set(typed)].sort((a, b) => a - b);

export const effectOption = (about: string) =>
  cli.custom(about, "reward", (word) => (word.startsWith("-") ? reject("a number of at least 0") : parseNumber(word)));

export const limitOption = cli.count("only the first n entries");
export const orderOptions = cli.inGroup("order", {
  sort: cli.commaList("columns to sort by; -column for descending order", "columns", (column) => column),
  limit: limitOption,
});

export type OrderOptions = cli.Values<typeof orderOptions>;
