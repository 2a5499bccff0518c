/** The options of commands that read trajectories: what of the input they take, how other tools wrote it, how strictly it is checked. */
import { count, each, flag, parsed, several, text, type Values, wrongValue } from "../../cli/index.ts";

/** A part of the groups, and how many parts there are. */
const shardIn = (word: string, option: string): { readonly part: number; readonly of: number } => {
  const [, part = 0, of = 0] = (/^([1-9]\d{0,5})\/([1-9]\d{0,5})$/.exec(word) ?? []).map(Number);
  if (part >= 1 && part <= of) return { part, of };
  throw wrongValue(option, word, "a part and how many there are, from 1/1 to 999999/999999");
};

/** Which of the trajectories and groups are taken. */
export const choosing = each(
  { group: "choosing" },
  {
    where: text("only trajectories for which it is true (CEL): 'reward > 0.5 && group.size >= 4'", "expression"),
    best: count("only the n trajectories of each group with the highest rewards"),
    sample: count("only n groups, by chance"),
    seed: { ...text("what decides which groups --sample takes (0)"), needs: "sample" },
    shard: parsed("only groups whose digest falls into the ith of n parts: 3/64", "i/n", shardIn),
  },
);

/** How files of other tools are read. */
export const foreign = each(
  { group: "formats" },
  {
    from: text("how another tool wrote the files; rollcall is its own shape (auto)", "format"),
    "reward-from": text("where a record has the reward, such as scores.correct.value", "path"),
    rewards: text('rewards by id: lines of {"id", "reward"}', "file"),
    lossy: flag("read formats that have lost tokens or turns too"),
    histories: flag("a continued trajectory keeps its parts as histories"),
  },
);

/** How strictly input is checked. */
export const judging = each(
  { group: "checks" },
  {
    strict: flag("warnings are errors"),
    allow: several("no warnings of a rule; more than once for several", "rule"),
  },
);

export const groupBy = text("group trajectories by a key, wherever they stand", "key");
export const split = text("the data split that they belong to, such as train", "name");

/** A report for a build system. */
export const report = several(
  "github or junit, for a build system; =file writes a file; more than once for several",
  "form",
);

export type Choosing = Values<typeof choosing>;
export type Foreign = Values<typeof foreign>;
export type Judging = Values<typeof judging>;
