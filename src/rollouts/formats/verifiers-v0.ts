/** Converts results of verifiers v0. */

import { hash } from "node:crypto";
import { toRowTools, toTurns, unwrap } from "../../conversation/apis/openai.ts";
import { formatCanonically, formatSaid } from "../../conversation/prompt.ts";
import type { Members, Value } from "../../json/value.ts";
import * as build from "./build-trajectory.ts";
import type { Format, FormatRun, Rollout, SourceRecord } from "./format.ts";
import { formatSteps, listInnerSteps, listUsage, openDivisions, readSteps, readTurns } from "./row-keys.ts";

export const verifiersV0: Format = {
  name: "verifiers-v0",
  title: "results of verifiers v0",
  keys: {
    group:
      "the rows with the same group_id, or else with the same env_name (or task) and example_id (older rows: prompt, answer and info)",
    reward: "`reward`",
    sampled: "the assistant's turns in `completion`",
  },
  // `push_to_hf_hub` writes the rows as Parquet.
  records: { text: "lines", parquet: true },
  filePattern: /(?:^|[./])results\.jsonl$/,
  companions: /(?:^|[./])metadata\.json$/,
  recognizes: ({ value }, isGiven) =>
    value.has("prompt") &&
    (value.has("completion") || (value.has("error") && value.has("example_id"))) &&
    value.hasAny("example_id", "id") &&
    (isGiven ||
      ((value.has("reward") || (value.isNullAt("reward") && value.has("example_id"))) &&
        value.hasAny("task", "answer", "info", "metrics"))),
  takesGroupKey: true,
  listTurns: (row) => readTurns(row, { prompt: "prompt", answer: "completion" }),
  open: (run) => {
    let environment = "";
    const divisions = openDivisions(usedKeys);
    const examples = new Map<string, { ids: Set<string>; digests: Set<string>; rows: number }>();
    return {
      listNotes: divisions.listNotes,
      // Results of single tasks that someone joined have one id.
      preview: ({ value, file }) => {
        const id = value.get("example_id");
        if (!id || value.has("group_id")) return false;
        const found = examples.get(file) ?? { ids: new Set(), digests: new Set(), rows: 0 };
        examples.set(file, found);
        found.ids.add(id.raw);
        found.digests.add(digestExample(value));
        found.rows++;
        return found.ids.size === 1;
      },
      convert: (record) => {
        // Several environments number their examples from 0. Older rows name the environment in `task`.
        const named = record.value.get("env_name") ?? record.value.get("task");
        // The environment can be in the missing part of a truncated row.
        environment = named?.raw ?? (record.isTruncated ? environment : "");
        const { ids, digests, rows = 0 } = examples.get(record.file) ?? {};
        const areJoined = ids?.size === 1 && digests && digests.size > 1 && digests.size < rows;
        const rollouts = convertRollout(run, record, `${environment} ${areJoined ? digestExample(record.value) : ""}`);
        if (!record.value.has("group_id")) divisions.add(record);
        return rollouts;
      },
    };
  },
};

const convertRollout = (run: FormatRun, record: SourceRecord, environment: string): readonly Rollout[] => {
  const row = record.value;
  const id = row.get("example_id") ?? row.get("id") ?? row.require("example_id");
  const group = row.get("group_id");
  const example = row.get("example_id")?.raw ?? digestExample(row);
  // Since 0.6, prime-rl cuts batches within groups, which continue in the file of the next step.
  const recorded = group && { key: `group ${group.raw}`, by: "group_id", spansFiles: build.isUuid(group.text ?? "") };
  const steps = readSteps(row);
  record.steps = formatSteps(steps);
  const by = [...steps.keys(), `environment and ${row.has("example_id") ? "example_id" : "prompt"}`].join(" and ");
  const derived = { key: `${record.steps} ${environment} ${example}`, by, isDerived: true };
  record.group = recorded ?? derived;
  const { rewards, rewardFrom = ["reward"] } = run.options;
  const facts = { score: build.readPath(row, rewardFrom), hasAnswer: row.has("completion") };
  const failure = rewards ? undefined : build.findFailure(run, row, facts);
  if (failure !== undefined) return [{ exception: failure }];
  const skipped = build.skipUnscored(run, row.get("reward"), record.isTruncated);
  if (skipped) return skipped;
  const own = convertMetrics(row);
  const names = new Set(own.map(([name]) => name));
  const metrics = [...own, ...build.findMetrics(row).filter(([key]) => !names.has(key))];
  const trajectory = build.buildTrajectory({
    reward: build.findReward(run, { record: row, ids: [id], readOwn: () => build.requireReward(row, "reward") }),
    turns: convertTurns(run, row),
    tools: toRowTools(run, unwrap(row.get("tool_defs") ?? unwrap(row.get("info"))?.get("oai_tools"))),
    policy: { start: row.get("policy_version"), end: undefined },
    metrics,
    metadata: convertMetadata(row, metrics, run.readSettings(record, "metadata.json")),
  });
  for (const [key] of run.unread ? metrics : []) {
    const repeated = row.get(key);
    if (repeated && repeated.raw === row.get("metrics", key)?.raw) run.unread?.keep(repeated);
  }
  return [trajectory];
};

/** Before `example_id`, `id` is the number of the row divided by the rollouts of an example, in another order. */
const digestExample = (row: Value) => {
  const prompt = unwrap(row.get("prompt"));
  // A prompt whose images were left out can belong to several examples.
  const isEmpty =
    prompt?.isList && prompt.items().every((message) => !message.textAt("content") && !message.get("content", 0));
  const others = ["answer", "info", ...(isEmpty ? ["id"] : [])].map((key) => unwrap(row.get(key)));
  const values = [prompt && formatSaid(prompt), ...others.map((value) => value && formatCanonically(value))];
  return hash("sha256", JSON.stringify(values));
};

/** The completions of some environments, such as RLM, begin with the prompt. */
const convertTurns = (run: FormatRun, row: Value) => {
  const [prompt, completion] = [row.require("prompt"), row.require("completion")];
  const [given, own] = [prompt, completion].map((list) => unwrap(list).items());
  const isSame = (message: Value, at: number) =>
    ["role", "content"].every((key) => message.get(key)?.raw === own?.[at]?.get(key)?.raw);
  const repeated = given?.every(isSame) ? given.length : 0;
  if (repeated > 0) run.note("left out the prompt at the start of a completion, because it repeats the row's prompt");
  const turns = toTurns(run, completion, { name: "completion", sampled: { record: row } });
  return [...toTurns(run, prompt, { name: "prompt" }), ...turns.slice(repeated)];
};

const usedKeys = ["prompt", "completion", "reward", "policy_version"];

/** Without `metrics`, uses the numbers of the row, except ids and durations. */
const convertMetrics = (row: Value) => {
  const metrics = row.get("metrics");
  if (metrics?.isObject) return metrics.metricMembers();
  return row
    .members()
    .filter(([key, { isNumber }]) => isNumber && !usedKeys.includes(key) && !/(?:^|_)id$|_ms$/.test(key));
};

const convertMetadata = (row: Value, metrics: Members, settings: Value | undefined) => {
  const metricNames = new Set(metrics.map(([name]) => name));
  const isMetadata = (key: string, { isNull, isFlat }: Value) =>
    isNull || (isFlat && !usedKeys.includes(key) && !metricNames.has(key));
  const missing = ["env_id", "model"].filter((key) => !row.has(key));
  const ofRun = missing.map((key) => [key, settings?.get(key)] as const);
  const own = row.members().filter(([key, value]) => isMetadata(key, value));
  return [...listInnerSteps(row), ...listUsage(row), ...own, ...ofRun];
};
