/** Results of verifiers v0: a rollout a line, with its prompt and completion as chat messages or text. */
import { type Built, type Composed, list, object, objectOf, said, unlessEmpty } from "./built.ts";
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
import { functionTools } from "./tool-calls.ts";
import { givenTurns, sampledTurns } from "./turns.ts";
import type { Value } from "./value.ts";

export const verifiersV0: Format = {
  name: "verifiers-v0",
  title: "results of verifiers v0",
  keys: { group: "example_id", reward: "reward", sampled: "the assistant's turns of completion" },
  records: { text: "lines" },
  files: /(?:^|[./])results\.jsonl(?:\.gz|\.zst)?$/,
  recognises: ({ value }) =>
    value.get("prompt") !== undefined &&
    value.get("completion") !== undefined &&
    value.get("reward")?.number !== undefined &&
    (value.get("example_id") ?? value.get("id")) !== undefined &&
    (value.get("task") ?? value.get("answer") ?? value.get("info") ?? value.get("metrics")) !== undefined,
  open: (run) => {
    let last: { readonly file: string; readonly settings: Value | undefined } | undefined;
    return {
      convert: (record) => {
        if (last?.file !== record.file) last = { file: record.file, settings: run.beside(record, "metadata.json") };
        return rolloutsOf(run, record, last.settings);
      },
    };
  },
  left: {
    token_usage: "the interface has no place for usage",
    timing: "the interface has no place for durations",
    "tool_defs[]": "only function tools have a place",
    info: "the trajectory's metadata holds no nested values",
    metrics: "metrics are numbers",
  },
};

const rolloutsOf = (run: FormatRun, { value }: SourceRecord, settings: Value | undefined): readonly Rollout[] => {
  const id = value.get("example_id") ?? value.get("id");
  if (id === undefined) throw new Unfit("example_id is missing", value);
  const group: GroupKey = [{ spelled: id }];
  const error = value.get("error");
  if (error !== undefined) {
    run.leave(value, "a row with an error is an exception, whatever else it has");
    return [{ group, exception: exceptionOf(error) }];
  }
  const { reward, identity } = rewardOf(run, { record: value, ids: [id], own: value.get("reward"), group });
  const metrics = metricsOf(value);
  const trajectory = object({
    messages_and_choices: list(turnsOf(run, value, group)),
    tools: toolsOf(value),
    reward,
    metrics: unlessEmpty(metrics),
    metadata: unlessEmpty(metadataOf(value, metrics, settings)),
  });
  return [{ group, identity, trajectory, also: () => flatAgain(value, metrics) }];
};

const turnsOf = (run: FormatRun, row: Value, group: GroupKey): readonly Built[] => {
  const truncated = row.get("is_truncated");
  const lastFinish = truncated?.isTrue === true ? said("length", truncated) : undefined;
  return [
    ...givenTurns(run, needed(row, "prompt", group), { group, name: "prompt" }),
    ...sampledTurns(run, needed(row, "completion", group), { group, name: "completion", lastFinish }),
  ];
};

const exceptionOf = (error: Value): Built =>
  error.isObject ? error : object({ type: said("error"), message: !error.isText ? said(error.raw, error) : error });

const toolsOf = (row: Value): Built | undefined => {
  const info = row.get("info");
  const tools = row.get("tool_defs") ?? info?.get("oai_tools") ?? info?.inner?.get("oai_tools");
  return functionTools(tools?.inner ?? tools);
};

/** Keys of a row that are neither metrics nor metadata, unless they are null. */
const placed: ReadonlySet<string> = new Set(["prompt", "completion", "reward", "error"]);

const metricsOf = (row: Value): Composed => {
  const own = row.get("metrics");
  if (own?.isObject !== true) return objectOf(flatMetrics(row));
  return objectOf(own.members().filter(([, { isMeasured }]) => isMeasured));
};

/** Numbers at the top of a row without `metrics` are metrics, but for ids and durations. */
const flatMetrics = (row: Value): readonly (readonly [string, Value])[] =>
  row.members().filter(([key, { isNumber }]) => isNumber && !placed.has(key) && !/(?:^|_)id$|_ms$/.test(key));

/** Metrics that stand at the top of the row too. */
function* flatAgain(row: Value, { keys }: Composed): Generator<readonly [Value, string], void> {
  for (const key of keys) {
    const flat = row.get(key);
    if (flat !== undefined && flat.raw === row.get("metrics", key)?.raw) yield [flat, `trajectory.metrics.${key}`];
  }
}

const metadataOf = (row: Value, { keys: metrics }: Composed, settings: Value | undefined): Composed => {
  const own = row
    .members()
    .filter(([key, { isFlat, isNull }]) => isNull || (isFlat && !placed.has(key) && !metrics.includes(key)));
  const run = ["env_id", "model"].flatMap((key): [string, Value][] => {
    const value = settings?.get(key);
    return value === undefined || row.get(key) !== undefined ? [] : [[key, value]];
  });
  return objectOf([...own, ...run]);
};
