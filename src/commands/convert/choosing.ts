/** `--where`, `--best`, `--sample` and `--shard`: what of the input `convert`, `check`, `log` and `ledger` take. */
import type { Command } from "commander";
import { Failure } from "../../failure.ts";
import { type Choosing, checkWhere } from "../../groups/index.ts";

/** The options as commander gives them. */
export interface TypedChoosing {
  readonly where?: string;
  readonly best?: string;
  readonly sample?: string;
  readonly seed?: string;
  readonly shard?: string;
}

/** Declares the options. */
export const choosingOptions = (command: Command): Command =>
  command
    .option("--where <expression>", "only trajectories for which it is true (CEL): 'reward > 0.5 && group.size >= 4'")
    .option("--best <n>", "only the n trajectories of each group with the highest rewards")
    .option("--sample <n>", "only n groups, by chance")
    .option("--seed <text>", "what decides which groups --sample takes (0)")
    .option("--shard <i/n>", "only groups whose digest falls into the ith of n parts: 3/64");

/** What the options mean; undefined where all is wanted. @throws Failure `option-value-wrong`, `option-needs`, `where-wrong` */
export const choosingTyped = async (typed: TypedChoosing): Promise<Choosing | undefined> => {
  const { where, best, sample, seed, shard } = typed;
  if (seed !== undefined && sample === undefined) {
    throw new Failure("option-needs", { option: "--seed", needs: "--sample" });
  }
  if (where !== undefined) await checkWhere(where);
  if ([where, best, sample, shard].every((value) => value === undefined)) return undefined;
  return {
    where,
    best: countTyped("--best", best),
    sample: countTyped("--sample", sample),
    seed: seed ?? "0",
    shard: shardTyped(shard),
  };
};

const shardTyped = (value: string | undefined): Choosing["shard"] => {
  if (value === undefined) return undefined;
  const [, part = 0, of = 0] = (/^([1-9]\d{0,5})\/([1-9]\d{0,5})$/.exec(value) ?? []).map(Number);
  if (part >= 1 && part <= of) return { part, of };
  const wanted = "a part and how many there are, from 1/1 to 999999/999999";
  throw new Failure("option-value-wrong", { option: "--shard", value, wanted });
};

const countTyped = (option: string, value: string | undefined): number | undefined => {
  if (value === undefined) return undefined;
  if (/^[1-9]\d{0,8}$/.test(value)) return Number(value);
  throw new Failure("option-value-wrong", { option, value, wanted: "a number from 1 on" });
};
