/** `--rewards`: the rewards of rollouts whose files have none, lines of `{"id", "reward"}`. */

import { readFileSync } from "node:fs";
import type { Failure } from "../failure.ts";
import { invalidOptionValue } from "../failures.ts";
import { getErrorCode } from "../files.ts";
import { listMemberSpans, parseJson, rootSpan, sliceText } from "../json/walk.ts";

/** Rewards by id, each as it is spelled. @throws Failure `invalid-option-value` */
export const readRewards = (file: string): ReadonlyMap<string, string> => {
  const rewards = new Map<string, string>();
  const lines = readText(file).split("\n");
  for (const [at, line] of lines.entries()) {
    if (line.trim() === "") continue;
    const bytes = Buffer.from(line);
    const spans = parseJson(line) === undefined ? new Map() : listMemberSpans(bytes, rootSpan(bytes));
    const [id, reward] = ["id", "reward"].map((key) => spans.get(key)).map((span) => span && sliceText(bytes, span));
    const isNumber = reward !== undefined && /^-?\d/.test(reward);
    if (id === undefined || !isNumber) throw invalidRewards(file, `line ${at + 1} is no {"id": …, "reward": 1}`);
    const name = id.startsWith('"') ? String(JSON.parse(id)) : id;
    if (rewards.has(name) && rewards.get(name) !== reward) throw invalidRewards(file, `${name} has two rewards`);
    rewards.set(name, reward);
  }
  return rewards;
};

const invalidRewards = (file: string, wrong: string): Failure =>
  invalidOptionValue({ option: "--rewards", value: file, wanted: `a file of rewards: ${wrong}` });

const readText = (file: string): string => {
  try {
    return readFileSync(file, "utf8");
  } catch (thrown) {
    throw invalidRewards(file, `it can't be read (${getErrorCode(thrown)})`);
  }
};
