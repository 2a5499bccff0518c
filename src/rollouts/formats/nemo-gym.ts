/** Converts rollouts of NeMo Gym. */
import { hash } from "node:crypto";
import { toTools } from "../../conversation/apis/openai.ts";
import { convertInput, convertOutput, convertPrompt, isPlaceholder } from "../../conversation/apis/responses.ts";
import { literal } from "../../json/output-json.ts";
import type { Members, Value } from "../../json/value.ts";
import * as build from "./build-trajectory.ts";
import type { Format, FormatRun, Group, SourceRecord } from "./format.ts";
import { formatSteps, listInnerSteps, readSteps } from "./row-keys.ts";
import { convertMessages } from "./tau2.ts";

const failureFiles = /_failures(?=\.jsonl(?:\.gz|\.zst)?$)/i;
const otherFiles = /_(?:materialized_inputs|reward_profiling)\.jsonl(?:\.gz|\.zst)?$/i;

export const nemoGym: Format = {
  name: "nemo-gym",
  title: "rollouts of NeMo Gym",
  keys: {
    group: "the rows with the same _ng_task_index, or with the same prompt if they have none",
    reward: "`reward`",
    sampled: "the turns in `response.output`",
  },
  records: { text: "lines" },
  companions: /_(?:aggregate|agent)_metrics\.json$/,
  groupScope: (file) => file.replace(failureFiles, ""),
  recognizes: ({ value, file }) =>
    (value.get("responses_create_params")?.isObject && value.get("response", "output")?.isList) ||
    (value.has("_ng_failure_class") && value.has("_ng_task_index")) ||
    (otherFiles.test(file) && value.isObject),
  open: (run) => ({
    // A failed attempt can precede the rollout.
    preview: (record) => (isFailure(record) ? false : isFirstAttempt(run, record)),
    convert: (record) => convertRollouts(run, record),
  }),
};

const isFailure = ({ value, file }: SourceRecord) => value.has("_ng_failure_class") || failureFiles.test(file);

const isFirstAttempt = (run: FormatRun, record: SourceRecord) => {
  const id = findId(record);
  return id === undefined || run.isFirst(id, record);
};

const findId = (record: SourceRecord) => {
  const rollout = record.value.get("_ng_rollout_index");
  return rollout && `${findGroup(record)?.key} ${rollout.raw}`;
};

const convertRollouts = (run: FormatRun, record: SourceRecord) => {
  const { value, file } = record;
  if (otherFiles.test(file)) {
    run.note("skipped a row that is not a rollout (inputs or profiling data)");
    return [];
  }
  record.group = findGroup(record);
  if (!record.group) throw value.error("_ng_task_index and the prompt are missing, so the group is unknown");
  if (isFailure(record)) {
    if (isFirstAttempt(run, record)) return [{ exception: buildFailure(value) }];
    return run.skip("a failed attempt, because another attempt of the rollout is used");
  }
  const id = findId(record);
  const failure = findFailure(value);
  if (failure) return [{ id, exception: failure }];
  const skipped = build.skipUnscored(run, value.get("reward"), record.isTruncated);
  return skipped ?? [{ id, ...convertTrajectory(run, value) }];
};

const convertTrajectory = (run: FormatRun, row: Value) => {
  const params = row.require("responses_create_params");
  const response = row.require("response");
  const transition = response.items("output").find(({ isList }) => isList);
  if (transition)
    throw transition.error(
      "transitions are not supported, because they repeat the turns (collect the rollouts with return_transitions: false)",
    );
  const ids = [row.get("_ng_task_index"), response.get("id")];
  const reward = build.findReward(run, { record: row, ids, readOwn: () => build.requireReward(row, "reward") });
  // Every other number in a row of tau2's agent is a setting of its request.
  const isMetric = ([key, { canBeMetric }]: Members[number]) =>
    canBeMetric && !key.startsWith("_") && (!isTau2(row) || key === "duration");
  const members = row.flatMembers().filter(([key]) => key !== "reward");
  return build.buildTrajectory({
    reward,
    turns: convertTurns(run, row),
    tools: toTools(run, params.get("tools")) ?? toTools(run, response.get("tools")),
    metrics: [...members.filter(isMetric), ...build.findMetrics(row).filter(([key]) => !row.has(key))],
    metadata: [
      ...listInnerSteps(row),
      ...members.filter((member) => !isMetric(member)),
      ["agent_ref.name", row.get("agent_ref", "name")],
    ],
  });
};

/** tau2's agent puts the turns up to its second answer into `input`. The whole run is in its result. */
const convertTurns = (run: FormatRun, row: Value) => {
  const [params, response] = [findParams(run, row), row.require("response")];
  const input = params.require("input");
  const instructions = params.get("instructions");
  const before = instructions ? [{ role: "system", content: instructions }] : [];
  const messages = [row.items("result", "agent_messages"), row.items("result", "messages")].find((list) => list[0]);
  if (!isTau2(row) || !messages)
    return [...before, ...convertInput(run, input, isTau2(row)), ...convertOutput(run, response)];
  run.note("read the turns from `result.messages`, because `input` contains sampled turns");
  for (const repeated of [...input.items(), response.require("output")]) run.unread?.keep(repeated);
  const recorded = messages[0]?.textAt("role") === "system" ? [] : convertPrompt(run, input);
  return [...before, ...recorded, ...convertMessages(run, messages, row.get("task"))];
};

/** The agent for proofs records the first request, and the response to the last. */
const findParams = (run: FormatRun, row: Value) => {
  const attempts = row.items("all_attempts");
  for (let at = 1; at < attempts.length; at++) run.skip("an earlier attempt with another prompt");
  return attempts.at(-1)?.get("input") ?? row.require("responses_create_params");
};

const isTau2 = (row: Value) =>
  row.has("result", "termination_reason") || (row.has("evaluation_type") && row.get("task")?.isObject === true);

/** Tasks of different files can have the same number, so the group key includes the file. */
const findGroup = ({ value, file }: SourceRecord): Group | undefined => {
  const scope = [file.replace(failureFiles, ""), formatSteps(readSteps(value))];
  const task = value.get("_ng_task_index");
  if (task) return { key: JSON.stringify([...scope, task.raw]), by: "_ng_task_index" };
  const params = value.get("responses_create_params");
  const prompt = isTau2(value) ? value.get("task", "id") : params?.get("input");
  if (!prompt) return undefined;
  const inputs = isTau2(value)
    ? [value.get("config", "domain")?.raw, prompt.raw]
    : [hash("sha256", `${params?.get("instructions")?.raw ?? ""}\n${prompt.raw}`, "hex")];
  return { key: JSON.stringify([...scope, ...inputs]), by: "prompt", isDerived: true };
};

/** Finds a failure whose row has a reward all the same. */
const findFailure = (row: Value) => {
  const mask = row.get("mask_sample") ?? row.get("instance_config", "mask_sample");
  const type = row.get("exception_type");
  if (mask?.isTrue) return build.buildException(literal("mask_sample is true", mask), "masked");
  const output = row.items("response", "output");
  const [first] = output;
  if (type?.isText && !first) return build.buildException(row.get("exception_message"), type);
  const ungraded = findMissingGrade(row);
  if (ungraded) return ungraded;
  if (!first || !output.every(isPlaceholder)) return findLostReward(row, output);
  const text = first.get("content", 0, "text");
  return build.buildException(text?.text ? text : undefined, "no_turns");
};

/** PinchBench, longmt_eval, rolemrc, aalcr and gdpval write the reward 0 if nothing was graded. */
const findMissingGrade = (row: Value) => {
  if ((row.get("reward")?.number ?? 0) !== 0) return undefined;
  const [status, notes, error] = ["status", "grading_notes", "segale_error"].map((key) => row.get(key));
  if (row.textAt("grading_type") === "unknown" && status?.isText && status.text !== "success")
    return build.buildException(notes?.isBlank ? undefined : notes, status);
  if (error?.isText) return build.buildException(error, "unscored");
  const marks = row.textAt("verdict") === undefined ? ["judge_skipped", "invalid_judge_response"] : [];
  const mark = marks.find((name) => row.get(name)?.isTrue);
  return mark && build.buildException(literal(`${mark} is true`, row), "unscored");
};

/** The agents for Harbor, mini-swe-agent and finance write the reward 0 after an error. */
const findLostReward = (row: Value, output: readonly Value[]) => {
  const metadata = row.get("metadata");
  if (metadata?.has("trial_name") && metadata.metricMembers("verifier_result", "rewards").length === 0) {
    const keys = ["message", "type", "traceback"];
    const [message, type, traceback] = keys.map((key) => metadata.get("exception_info", `exception_${key}`));
    return build.buildException(message, type ?? "unscored", traceback);
  }
  const error = metadata?.get("error");
  const isUnknown = row.has("instance_id") && metadata?.isObject && metadata.members().length === 0;
  if (output.length > 0 || ((error?.isBlank ?? true) && !isUnknown && row.get("response", "id")?.text !== "error"))
    return undefined;
  return build.buildException(error, "no_turns", metadata?.get("traceback"));
};

const buildFailure = (row: Value) => {
  const keys = ["_ng_failure_message", "error", "error_message", "failure_reason"];
  const message = keys.map((key) => row.get(key)).find((value) => value?.isText);
  return build.buildException(message, row.get("_ng_failure_class"));
};
