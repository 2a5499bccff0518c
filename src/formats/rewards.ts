/** `--rewards`: the rewards of rollouts whose files have none, lines of `{"id", "reward"}`. */

import { readFileSync } from "node:fs";
import type { Failure } from "../failure.ts";
import { optionValueWrong } from "../failures.ts";
import { codeOf } from "../files.ts";
import { memberSpans, parsedJson, textOf, wholeOf } from "../json/walk.ts";

/** Rewards by id, each as it is spelled. @throws Failure `option-value-wrong` */
export const readRewards = (file: string): ReadonlyMap<string, string> => {
  const rewards = new Map<string, string>();
  const lines = readText(file).split("\n");
  for (const [at, line] of lines.entries()) {
    if (line.trim() === "") continue;
    const bytes = Buffer.from(line);
    const spans = parsedJson(line) === undefined ? new Map() : memberSpans(bytes, wholeOf(bytes));
    const [id, reward] = ["id", "reward"].map((key) => spans.get(key)).map((span) => span && textOf(bytes, span));
    const isNumber = reward !== undefined && /^-?\d/.test(reward);
    if (id === undefined || !isNumber) throw wrongRewards(file, `line ${at + 1} is no {"id": …, "reward": 1}`);
    const name = id.startsWith('"') ? String(JSON.parse(id)) : id;
    if (rewards.has(name) && rewards.get(name) !== reward) throw wrongRewards(file, `${name} has two rewards`);
    rewards.set(name, reward);
  }
  return rewards;
};

const wrongRewards = (file: string, wrong: string): Failure =>
  optionValueWrong({ option: "--rewards", value: file, wanted: `a file of rewards: ${wrong}` });

const readText = (file: string): string => {
  try {
    return readFileSync(file, "utf8");
  } catch (thrown) {
    throw wrongRewards(file, `it can't be read (${codeOf(thrown)})`);
  }
};
