/** Logs of Inspect: a sample is a rollout, its epochs are a group; a member of an archive, or one of a document's. */
import { type Built, type Composed, list, object, objectOf, said, unlessEmpty } from "./built.ts";
import { type Format, type FormatRun, type Rollout, rewardOf, type SourceRecord, Unfit } from "./format.ts";
import { turnsOf } from "./inspect-messages.ts";
import type { Value } from "./value.ts";

/** Why values of a sample have no place. */
const leftOfSample: Readonly<Record<string, string>> = {
  events: "what went on around the messages: they stand in messages",
  transcript: "what went on around the messages: they stand in messages",
  events_data: "what went on around the messages: they stand in messages",
  timelines: "what went on around the messages: they stand in messages",
  output: "what was sampled stands in messages",
  attachments: "no message has it",
  input: "the messages say what the sample began with",
  model_usage: "the interface has no place for usage",
  role_usage: "the interface has no place for usage",
  scores: "a score has a place for its value",
  score: "a score has a place for its value",
  metadata: "the trajectory's metadata holds no nested values",
};

/** Why values of a log have no place. */
const leftOfLog = Object.fromEntries(
  ["version", "status", "eval", "plan", "results", "stats", "error", "reductions", "invalidated", "log_updates"].map(
    (key) => [key, "it is of the run, and of no sample"],
  ),
);

export const inspect: Format = {
  name: "inspect",
  title: "a log of Inspect",
  keys: {
    group: "the sample's id (its epochs are a group)",
    reward: "--reward-from scores.<name>.value",
    sampled: "messages of source generate, and those that are outputs of models",
  },
  records: { text: "document", zip: /^samples\/.+\.json$/ },
  files: /\.eval$/,
  nonFinite: true,
  recognises: ({ value, member }) =>
    member === undefined
      ? value.get("eval", "task")?.isText === true && value.get("samples")?.isList === true
      : value.get("id") !== undefined && value.get("epoch")?.number !== undefined,
  open: (run) => ({ convert: (record) => rolloutsOf(run, record), groupOf }),
  left: {
    ...leftOfLog,
    ...leftOfSample,
    ...Object.fromEntries(Object.entries(leftOfSample).map(([key, why]) => [`samples[].${key}`, why])),
  },
};

const rolloutsOf = (run: FormatRun, record: SourceRecord): readonly Rollout[] => {
  const { value, member } = record;
  if (member !== undefined) {
    const settings = run.beside(record, "header.json") ?? run.beside(record, "_journal/start.json");
    return [rolloutOf(run, { sample: value, log: settings, at: 0 })];
  }
  const samples = value.get("samples");
  if (samples?.isList !== true) throw new Unfit("samples are missing", value);
  return samples.items().map((sample, at) => rolloutOf(run, { sample, log: value, at }));
};

const groupOf = (member: string): string | undefined => /^samples\/(.+)_epoch_\d+\.json$/.exec(member)?.[1];

/** A sample, and the log that it is in. */
interface Logged {
  readonly sample: Value;
  readonly log: Value | undefined;
}

const rolloutOf = (run: FormatRun, { sample, log, at }: Logged & { readonly at: number }): Rollout => {
  const id = sample.get("id");
  const group = id?.text ?? id?.raw;
  try {
    if (group === undefined) throw new Unfit("id is missing", sample);
    return { group, of: sample, ...outcomeOf(run, { sample, log }, group) };
  } catch (thrown) {
    if (!(thrown instanceof Unfit)) throw thrown;
    return { group: group ?? `without id ${at}`, of: sample, unfit: thrown, isUnplaced: group === undefined };
  }
};

const outcomeOf = (run: FormatRun, { sample, log }: Logged, group: string): Omit<Rollout, "group"> => {
  const error = sample.get("error");
  if (error !== undefined) {
    run.leave(sample, "a sample with an error is an exception, whatever else it has");
    return { exception: exceptionOf(error) };
  }
  const scores = scoresOf(sample, log);
  const { reward, identity } = scoredReward(run, { sample, scores, group });
  const { turns, tools } = turnsOf({ run, sample, group });
  const started = sample.get("started_at");
  const isMoment = /T.*(?:Z|[+-]\d\d:?\d\d)$/i.test(started?.text ?? "");
  const trajectory = object({
    messages_and_choices: list(turns),
    tools,
    reward,
    metrics: unlessEmpty(metricsOf(run, scores)),
    metadata: unlessEmpty(metadataOf(sample, { log, scores, without: isMoment ? "started_at" : undefined })),
    start_time: isMoment ? started : undefined,
  });
  return { trajectory, identity };
};

const scoredReward = (
  run: FormatRun,
  { sample, scores, group }: { readonly sample: Value; readonly scores: Scores; readonly group: string },
): ReturnType<typeof rewardOf> => {
  const { rewardFrom, rewards } = run.asked;
  const [first, name, ...rest] = rewardFrom ?? [];
  const older = first === "scores" && sample.get("scores") === undefined;
  const value =
    rewardFrom === undefined ? undefined : older ? scores.get(String(name))?.get(...rest) : sample.get(...rewardFrom);
  const number = value === undefined ? undefined : numberOf(run, value);
  if (number !== undefined && rewardFrom !== undefined) {
    return { reward: number, identity: `from ${rewardFrom.join(".")}` };
  }
  if (value?.isObject === true && value.members().length === 0) {
    throw new Unfit(`the reward's ${rewardFrom?.join(".")} is not finite: the sample was not scored`, value, group);
  }
  if (rewardFrom === undefined && rewards === undefined) {
    const names = [...scores.keys()].map((own) => `scores.${own}.value`).join(" or ") || "<path>";
    throw new Unfit(`it records no reward: say --reward-from ${names}, or --rewards <file>`, sample, group);
  }
  const ids = [`${group}_epoch_${sample.get("epoch")?.raw ?? 1}`, sample.get("uuid")];
  return rewardOf(run, { record: sample, ids, group });
};

/** The number that a score's value is. */
const numberOf = (run: FormatRun, value: Value): Built | undefined => {
  if (value.number !== undefined) return value;
  if (typeof value.data === "boolean") return said(value.data ? 1 : 0, value);
  const number = grades.get(value.text ?? "");
  if (number === undefined) return undefined;
  run.note("scores C, I, P and N are the numbers 1, 0, 0.5 and 0");
  return said(number, value);
};

const metricsOf = (run: FormatRun, scores: Scores): Composed => {
  const metricOf = (value: Value) => (typeof value.data === "boolean" ? value : numberOf(run, value));
  const numbers = [...scores].flatMap(([name, score]): [string, Built | undefined][] => {
    const value = score.get("value");
    if (value?.isObject !== true) return value === undefined ? [] : [[`scores.${name}`, metricOf(value)]];
    return value.members().map(([key, one]) => [`scores.${name}.${key}`, metricOf(one)]);
  });
  return objectOf(numbers);
};

/** The numbers that graders mean: correct, incorrect, partial, no answer. */
const grades: ReadonlyMap<string, number> = new Map([
  ["C", 1],
  ["I", 0],
  ["P", 0.5],
  ["N", 0],
]);

type Scores = ReadonlyMap<string, Value>;

/** The scores by their names; older logs have one, whose name stands in the results. */
const scoresOf = (sample: Value, log: Value | undefined): Scores => {
  const own = sample.get("scores");
  const older = sample.get("score");
  if (own !== undefined || older === undefined) return new Map(own?.members());
  const name = log?.get("results", "scorer", "name") ?? log?.get("results", "scores", 0, "name");
  return new Map([[name?.text ?? "score", older]]);
};

const exceptionOf = (error: Value): Built => {
  const message = error.get("message") ?? error;
  const words = !message.isText ? said(message.raw, message) : message;
  return object({ type: said("error"), message: words, traceback: error.get("traceback") });
};

const metadataOf = (
  sample: Value,
  {
    log,
    scores,
    without,
  }: { readonly log: Value | undefined; readonly scores: Scores; readonly without: string | undefined },
): Composed => {
  const taken = new Set(["messages", "error", "input", without]);
  const members = new Map<string, Value | undefined>(
    sample.members().filter(([key, { isFlat }]) => isFlat && !taken.has(key)),
  );
  const add = (key: string, value: Value | undefined, otherwise: string): void => {
    if (value !== undefined) members.set(members.has(key) ? otherwise : key, value);
  };
  add("limit", sample.get("limit", "type"), "limit.type");
  for (const [key, value] of sample.get("metadata")?.members() ?? []) {
    if (value.isFlat) add(key, value, `metadata.${key}`);
  }
  for (const [name, score] of scores) {
    const value = score.get("value");
    if (value?.text !== undefined && !grades.has(value.text)) add(`scores.${name}`, value, `scores.${name}.value`);
  }
  add("task", log?.get("eval", "task"), "eval.task");
  add("model", log?.get("eval", "model"), "eval.model");
  return objectOf(members);
};
