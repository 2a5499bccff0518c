/** Finds the scores of a sample of Inspect, and its reward. */
import { literal, type Member } from "../../json/output-json.ts";
import type { Path } from "../../json/table.ts";
import type { Value } from "../../json/value.ts";
import { findReward, missingReward, parseReward, readPath } from "./build-trajectory.ts";
import type { FormatRun } from "./format.ts";

export type Scores = ReadonlyMap<string, Value>;

export const findSampleReward = (
  run: FormatRun,
  sample: Value,
  { scores, names, scorers }: { scores: Scores; names: readonly string[]; scorers: Set<string> },
) => {
  const { rewardFrom, rewards } = run.options;
  const [[name, score] = []] = scores;
  const value = scores.size === 1 ? score?.get("value") : undefined;
  const own = value?.canBeMetric ? value : value && (convertGrade(run, value) ?? parseReward(run, value));
  const candidates = own ? scorers.add(`${name}`) : scores;
  const [first] = scorers;
  if (own && name === first && !rewardFrom && !rewards) {
    run.note(`used the score of the only scorer, ${name}, as the reward`);
    return findReward(run, { record: sample, ids: [], readOwn: () => own });
  }
  if (!rewardFrom && !rewards) {
    const listPaths = (name: string) => {
      const parts = scores.get(name)?.members("value") ?? [];
      return parts.length > 0 ? parts.map(([key]) => `scores.${name}.value.${key}`) : `scores.${name}.value`;
    };
    throw missingReward(sample, [...candidates.keys()].flatMap(listPaths));
  }
  const findValue = (path: Path) => {
    const [first, name, ...rest] = path;
    const isOlder = first === "scores" && !sample.has("scores");
    return isOlder ? scores.get(String(name))?.get(...rest) : readPath(sample, path);
  };
  const readOther = (value: Value) => convertGrade(run, value);
  const id = sample.get("id");
  const ids = [`${id?.plain}_epoch_${sample.get("epoch")?.raw ?? 1}`, sample.get("uuid"), ...names];
  return findReward(run, { record: sample, ids, findValue, readOther });
};

const convertGrade = (run: FormatRun, value: Value) => {
  const number = findGrade(value.text);
  if (number === undefined) return undefined;
  const isWord = /^[a-z]/i.test(value.text?.slice(1) ?? "");
  run.note(
    `converted the scores ${isWord ? "yes, true, no and false to 1, 1, 0 and 0" : "C, I, P and N to 1, 0, 0.5 and 0"}`,
  );
  return literal(number, value);
};

/** The grades correct, incorrect, partial and no answer, and the words of Inspect's `value_to_float`. */
const grades: ReadonlyMap<string, number> = new Map(
  Object.entries({ C: 1, I: 0, P: 0.5, N: 0, yes: 1, true: 1, no: 0, false: 0 }),
);

export const findGrade = (text = "") => grades.get(text) ?? grades.get(text.toLowerCase());

export const convertMetrics = (run: FormatRun, scores: Scores) => {
  const metricOf = (value: Value) => (value.canBeMetric ? value : convertGrade(run, value));
  return [...scores].flatMap(([name, score]): readonly Member[] => {
    const value = score.get("value");
    if (value?.isObject) return value.members().map(([key, one]) => [`scores.${name}.${key}`, metricOf(one)]);
    return value ? [[`scores.${name}`, metricOf(value)]] : [];
  });
};

/** In older logs, a sample has only one score, without a name. */
export const findScores = (sample: Value, log: Value | undefined) => {
  const scores = sample.get("scores");
  const older = sample.get("score");
  if (scores || !older) return new Map(scores?.members());
  const name = log?.get("results", "scorer", "name") ?? log?.get("results", "scores", 0, "name");
  return new Map([[name?.text ?? "score", older]]);
};

/**
 * A scorer that leaves a sample unscored returns nothing, or NaN, which is an empty object here and null in older logs.
 * A cancelled sample was not scored.
 */
export const isUnscored = ({ options: { rewardFrom, rewards } }: FormatRun, sample: Value, log: Value | undefined) => {
  if (rewards) return false;
  const scores = findScores(sample, log);
  if (scores.size === 0 && (log?.textAt("status") ?? "success") !== "success") return true;
  const scored = log?.has("results", "scores", 0) ? log.items("eval", "scorers") : [];
  const scorers = scored.flatMap((one) => one.textAt("name") ?? []);
  const names = scores.size > 0 ? [...scores.keys()] : scorers;
  const path = rewardFrom ?? (names.length === 1 ? ["scores", ...names, "value"] : []);
  const [first, name] = path;
  if (first === undefined) return false;
  if (first === "scores" && scorers.includes(`${name}`) && !scores.has(`${name}`)) return true;
  const value = readPath(sample, path);
  if (value) return (value.isObject && value.members().length === 0) || /^nan$/i.test(value.text ?? "");
  return first === "scores" && readPath(sample, path.slice(0, -1))?.isNullAt(`${path.at(-1)}`) === true;
};
