/** Converts samples of lm-evaluation-harness in which the model generated text. */

import { hash } from "node:crypto";
import { textChoice, toTurns } from "../../conversation/apis/openai.ts";
import type { Value } from "../../json/value.ts";
import { pluralize } from "../../text/sentences.ts";
import { buildTrajectory, findReward, suggestPaths } from "./build-trajectory.ts";
import type { Converter, Format, FormatRun, Rollout, SourceRecord } from "./format.ts";

export const lmEval: Format = {
  name: "lm-eval",
  title: "samples of lm-evaluation-harness",
  keys: {
    group: "the samples of one file with the same doc_id",
    reward: "missing (pass --reward-from METRIC, or METRIC,FILTER)",
    sampled: "the texts in `resps`",
  },
  records: { text: "lines" },
  hasGroupPerRecord: true,
  filePattern: /(?:^|\/)samples_[^/]*\.jsonl$/,
  companions: /(?:^|\/)results(?:_[^/]*)?\.json$/,
  recognizes: ({ value }) =>
    value.has("doc_id") && ["resps", "filtered_resps"].every((key) => value.get(key)?.isList) && value.has("arguments"),
  open: (run) => openSamples(run),
};

/** A file has a row for each filter of a sample. The rows of a sample repeat its responses. */
const openSamples = (run: FormatRun): Converter => {
  const filtersByFile = new Map<string, Set<string>>();
  return {
    preview: ({ value, file }) => {
      filtersByFile.set(file, (filtersByFile.get(file) ?? new Set()).add(filterOf(value)));
    },
    convert: (record) => {
      const { value: row } = record;
      record.group = { key: row.require("doc_id").raw, by: "doc_id" };
      if (filterOf(row) !== chooseFilter(run, row, [...(filtersByFile.get(record.file) ?? [])]))
        return run.skip("a row of another filter, because it repeats the responses");
      return convertSample(run, record);
    },
  };
};

/** Before version 0.4.7, rows do not name their filters. */
const filterOf = (row: Value) => row.textAt("filter") ?? "";

const splitPath = (path: readonly (string | number)[]) => path.join(".").split(",");

const chooseFilter = ({ options: { rewardFrom, rewards } }: FormatRun, row: Value, filters: readonly string[]) => {
  const named = rewardFrom && splitPath(rewardFrom)[1];
  if (named !== undefined && filters.includes(named)) return named;
  if (rewards || (named === undefined && rewardFrom && filters.length === 1)) return filters[0];
  // Of several responses, the row's own metrics can be pass@k, which rates them together.
  const repeats = row.members("scores_per_repeat");
  const metrics = (repeats.length > 0 ? repeats : listMetrics(row)).map(([name]) => name);
  const names = rewardFrom ? splitPath(rewardFrom).slice(0, 1) : metrics;
  const options = names.flatMap((name) => (filters.length === 1 ? name : filters.map((one) => `${name},${one}`)));
  const fault = named === undefined ? "several filters rate the sample" : `no row of the file has the filter ${named}`;
  throw row.error(
    `${rewardFrom ? fault : "the reward is missing"} (pass ${suggestPaths(options) ?? "--rewards <file>"})`,
  );
};

const usedKeys = new Set(["doc_id", "metrics"]);

const listMetrics = (row: Value) => {
  const names = row.items("metrics").map(({ text }) => text);
  const isMetric = (key: string) => (names.length > 0 ? names.includes(key) : !usedKeys.has(key));
  return row.metricMembers().filter(([key]) => isMetric(key));
};

const requirePrompt = (row: Value) => {
  const listed = row.require("arguments");
  const [request, ...more] = listed.isList ? listed.items() : listed.members().map(([, one]) => one);
  const argument = (at: number) => request?.get(request.isList ? at : `arg_${at}`);
  if (!request || more.length > 0 || !argument(1)?.isObject)
    throw listed.error(
      "the model rated texts instead of sampling them, so the sample is not a rollout (omit the file)",
    );
  const prompt = argument(0) ?? request;
  const [only, ...others] = prompt.items();
  // A prompt of a chat API is a list with a string of JSON.
  return only?.isText && others.length === 0 ? only : prompt;
};

const convertSample = (run: FormatRun, { value: row, file }: SourceRecord): readonly Rollout[] => {
  const prompt = requirePrompt(row);
  const before = toTurns(run, prompt, { name: "arguments" });
  const listed = row.requireItems("resps");
  const responses = listed[0]?.isList ? listed[0].items() : listed;
  const metrics = listMetrics(row);
  const metadata = row.flatMembers().filter(([key]) => !metrics.some(([name]) => name === key));
  const count = responses.length;
  const repeats = row
    .members("scores_per_repeat")
    .map(([name, scores]) => [name, scores.items()] as const)
    .filter(([, { length }]) => length === count);
  // Without the name of its filter, a second row of a sample repeats the rollouts.
  const sample = ["doc_id", "doc_hash", "resps"].map((key) => row.get(key)?.raw);
  const rowId = row.has("filter") ? undefined : `${file} ${hash("sha256", sample.join())}`;
  return responses.map((response, at) => {
    if (!response.isText) throw response.error("a response is not text");
    const isAlone = count === 1;
    const findValue = (path: readonly (string | number)[]) => {
      const name = splitPath(path)[0] ?? "";
      const repeats = row.get("scores_per_repeat", name);
      const value = repeats ?? row.get(name);
      if ((isAlone && !repeats) || !value) return value;
      const scores = value.items();
      if (scores.length === count) return scores[at];
      const fault = value.isList
        ? `has ${pluralize(scores.length, "score")} for ${count} responses`
        : `rates ${count} responses together`;
      throw value.error(`the metric ${fault}, so their rewards are unknown`);
    };
    const id = row.get("doc_id")?.raw ?? "";
    const reward = findReward(run, { record: row, ids: [isAlone ? id : `${id}/${at}`], findValue });
    const turns = [...before, textChoice(run, response, { record: row, completion: { at, count } })];
    const own = repeats.flatMap(([name, scores]) => scores.slice(at, at + 1).map((score) => [name, score] as const));
    const trajectory = buildTrajectory({ reward, turns, metrics: new Map([...metrics, ...own]), metadata });
    return { id: rowId && `${rowId} ${at}`, ...trajectory };
  });
};
