/** Logs of Inspect, in an archive or in one document. A sample is a rollout, and the epochs of a sample are a group. */
import { formatCommandLine } from "../shell-words.ts";
import type { Format, Run, SourceRecord } from "./format.ts";
import { readMessages } from "./inspect-messages.ts";
import { literal, type Member } from "./output-json.ts";
import * as rollouts from "./rollout.ts";
import type { Value } from "./value.ts";

export const inspect: Format = {
  name: "inspect",
  title: "a log of Inspect",
  keys: {
    group: "the epochs of a sample",
    reward: "none (pass --reward-from scores.NAME.value)",
    sampled: 'messages with the source "generate", and the outputs of model events',
  },
  records: { text: "document", zip: /^samples\/.+\.json$/ },
  filePattern: /\.eval$/,
  hasNonFinite: true,
  recognizes: ({ value, member }) =>
    member === undefined
      ? value.get("eval", "task")?.isText && value.get("samples")?.isList
      : value.has("id") && value.get("epoch")?.isNumber,
  open: (run) => ({
    convert: (record) => rolloutsOf(run, record),
    groupOfMember: (member) => /^samples\/(.+)_epoch_\d+\.json$/.exec(member)?.[1],
  }),
};

const rolloutsOf = (run: Run, record: SourceRecord) => {
  const { value, member } = record;
  if (member !== undefined) {
    const log = run.readDocument(record, "header.json") ?? run.readDocument(record, "_journal/start.json");
    return [rolloutOf(run, value, log)];
  }
  return value.requireItems("samples").map((sample) => rolloutOf(run, sample, value));
};

const rolloutOf = (run: Run, sample: Value, log: Value | undefined) => {
  const id = sample.get("id");
  const group = id?.text ?? id?.raw;
  return rollouts.convertPart(sample, group, () => {
    if (group === undefined) throw sample.error("id is missing");
    const error = sample.get("error");
    if (error)
      return { exception: rollouts.buildException(error.get("message") ?? error, undefined, error.get("traceback")) };
    const scores = scoresOf(sample, log);
    const started = sample.get("started_at");
    const startTime = /T.*(?:Z|[+-]\d\d:?\d\d)$/i.test(started?.text ?? "") ? started : undefined;
    return rollouts.buildTrajectory({
      reward: findSampleReward(run, sample, scores),
      ...readMessages(run, sample),
      metrics: metricsOf(run, scores),
      metadata: metadataOf(sample, log, scores, startTime),
      startTime,
    });
  });
};

type Scores = ReadonlyMap<string, Value>;

const findSampleReward = (run: Run, sample: Value, scores: Scores) => {
  const { rewardFrom, rewards } = run.options;
  if (!rewardFrom && !rewards) {
    const paths = Array.from(scores.keys(), (name) => formatCommandLine([`scores.${name}.value`]));
    throw rollouts.missingReward(sample, paths.join(" or ") || undefined);
  }
  if (rewardFrom) {
    const [first, name, ...rest] = rewardFrom;
    const isOlder = first === "scores" && !sample.has("scores");
    const value = isOlder ? scores.get(String(name))?.get(...rest) : rollouts.readPath(sample, rewardFrom);
    const number = value && numberOf(run, value);
    const path = rewardFrom.join(".");
    if (number !== undefined) return { reward: number, identity: `from ${path}` };
  }
  const id = sample.get("id");
  const ids = [`${id?.text ?? id?.raw}_epoch_${sample.get("epoch")?.raw ?? 1}`, sample.get("uuid")];
  return rollouts.findReward(run, { record: sample, ids });
};

const numberOf = (run: Run, value: Value) => {
  if (value.canBeMetric) return rollouts.toReward(run, value);
  const number = grades.get(value.text ?? "");
  if (number === undefined) return undefined;
  run.note("converted the scores C, I, P and N to 1, 0, 0.5 and 0");
  return literal(number, value);
};

/** The numbers of grades: correct, incorrect, partial, no answer. */
const grades: ReadonlyMap<string, number> = new Map(Object.entries({ C: 1, I: 0, P: 0.5, N: 0 }));

const metricsOf = (run: Run, scores: Scores) => {
  const metricOf = (value: Value) => (value.canBeMetric ? value : numberOf(run, value));
  return [...scores].flatMap(([name, score]): readonly Member[] => {
    const value = score.get("value");
    if (value?.isObject) return value.members().map(([key, one]) => [`scores.${name}.${key}`, metricOf(one)]);
    return value === undefined ? [] : [[`scores.${name}`, metricOf(value)]];
  });
};

/** Returns the scores by name. Older logs have one score, with its name in the results. */
const scoresOf = (sample: Value, log: Value | undefined) => {
  const scores = sample.get("scores");
  const older = sample.get("score");
  if (scores || !older) return new Map(scores?.members());
  const name = log?.get("results", "scorer", "name") ?? log?.get("results", "scores", 0, "name");
  return new Map([[name?.text ?? "score", older]]);
};

const metadataOf = (sample: Value, log: Value | undefined, scores: Scores, startTime: Value | undefined) => {
  const taken = ["messages", "error", "input", ...(startTime ? ["started_at"] : [])];
  const members = new Map<string, Value | undefined>(sample.flatMembers().filter(([key]) => !taken.includes(key)));
  const add = (key: string, value: Value | undefined, otherwise: string) => {
    if (value !== undefined) members.set(members.has(key) ? otherwise : key, value);
  };
  add("limit", sample.get("limit", "type"), "limit.type");
  for (const [key, value] of sample.flatMembers("metadata")) add(key, value, `metadata.${key}`);
  for (const [name, score] of scores) {
    const value = score.get("value");
    if (value?.text !== undefined && !grades.has(value.text)) add(`scores.${name}`, value, `scores.${name}.value`);
  }
  add("task", log?.get("eval", "task"), "eval.task");
  add("model", log?.get("eval", "model"), "eval.model");
  return members;
};
