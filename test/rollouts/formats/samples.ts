/** Files of other tools, and the options of their conversion. */
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const samples = "test/samples/formats";

/** Matches files that the writer puts next to its rollouts. */
export const notRollouts = /metadata\.json$|_failures\.jsonl$/;

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export const isTree = (value: Json): value is readonly Json[] | { readonly [key: string]: Json } =>
  typeof value === "object" && value !== null;

/** Returns the records of a sample that is text. */
export const recordsOf = (name: string): readonly Json[] => {
  const text = readFileSync(join(samples, name), "utf8");
  if (name.endsWith(".jsonl"))
    return text
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((line): Json => JSON.parse(line));
  return [JSON.parse(text)];
};

export const wordsOf = (name: string): readonly string[] => [
  ...(/^inspect(?:\.log_formats|-)/.test(name) ? ["--reward-from", "scores.match.value"] : []),
  ...(/^lm-eval-0\.(?:4\.12|5)/.test(name) ? ["--reward-from", "exact_match,strict-match"] : []),
  ...(name.startsWith("lm-eval-0.4.0") ? ["--reward-from", "exact_match"] : []),
  ...(name.startsWith("art-exchanges") ? ["--from", "art"] : []),
  ...(name.startsWith("roll") ? ["--from", "trl"] : []),
  ...(name.startsWith("trl") ? ["--reward-from", "exact_reward"] : []),
  ...(/^(?:atif|mini-swe|inspect.log_tool)/.test(name) ? ["--rewards", rewardsOf(name)] : []),
];

const rewardsOf = (name: string): string => {
  const file = join(mkdtempSync(join(tmpdir(), "rewards-")), "rewards.jsonl");
  const ids = new Set<string>([name.replace(/\.[^.]*$/, "")]);
  const walk = (value: Json): void => {
    if (typeof value === "string" && value.length < 80) ids.add(value);
    if (typeof value === "number") ids.add(String(value));
    if (isTree(value)) for (const child of Object.values(value)) walk(child);
  };
  for (const record of recordsOf(name)) walk(record);
  for (const id of [...ids]) for (let epoch = 1; epoch < 10; epoch++) ids.add(`${id}_epoch_${epoch}`);
  writeFileSync(file, [...ids].map((id) => JSON.stringify({ id, reward: 1 })).join("\n"));
  return file;
};
