/** Rollouts of NeMo Gym: a line each, with a prompt and a response of the Responses API, and a verifier's verdict. */
import { hash } from "node:crypto";
import {
  type Converter,
  commonReasons,
  type Format,
  type FormatRun,
  type Rollout,
  type SourceRecord,
} from "./format.ts";
import { systemMessage, toFunctionTools } from "./messages.ts";
import { literal } from "./output-json.ts";
import { toMessages, toTurns } from "./responses.ts";
import { buildException, buildTrajectory, findReward, withGroup } from "./rollout.ts";
import { ConversionError, flatMembers, metricMembers, requireKey, type Value } from "./value.ts";

/** Files next to the rollouts: of attempts that failed, and of what are not rollouts. */
const failureFiles = /_failures(?=\.jsonl(?:\.gz|\.zst)?$)/;
const otherFiles = /_(?:materialized_inputs|reward_profiling)\.jsonl(?:\.gz|\.zst)?$/;

export const nemoGym: Format = {
  name: "nemo-gym",
  title: "rollouts of NeMo Gym",
  keys: { group: "_ng_task_index, else the prompt", reward: "reward", sampled: "response.output" },
  records: { text: "lines" },
  hasGroupsAcrossFiles: true,
  lastFilePattern: failureFiles,
  recognizes: ({ value, file }) =>
    (value.get("responses_create_params")?.isObject === true && value.get("response", "output")?.isList === true) ||
    (value.get("_ng_failure_class") !== undefined && value.get("_ng_task_index") !== undefined) ||
    (otherFiles.test(file) && value.isObject),
  open: (run) => openRows(run),
  left: [
    ["a chat message has no place for it", "responses_create_params.input[] response.output[]"],
    [commonReasons.onlyFunctions, "responses_create_params.tools[]"],
    ["the interface has no place for settings of a request", "responses_create_params"],
    ["no logprobs are recorded with them", "response.output[].generation_token_ids"],
    ["they are made of the messages", "response.output[].prompt_token_ids"],
    [commonReasons.noUsage, "response.usage"],
    ["the interface has no place for what a response says of itself", "response"],
    [commonReasons.nested, "agent_ref"],
  ],
};

const openRows = (run: FormatRun): Converter => {
  /** Where each rollout succeeded, or failed first. */
  const firstResults = new Map<string, string>();
  return {
    convert: (record) => {
      const { value, file, position } = record;
      if (otherFiles.test(file)) {
        run.note("a row of inputs or of a profile is no rollout");
        return [];
      }
      const group = groupOf(record);
      const place = `${position} ${file}`;
      const rollout = value.get("_ng_rollout_index");
      const id = rollout === undefined ? place : `${group} ${rollout.raw}`;
      if (value.get("_ng_failure_class") === undefined && !failureFiles.test(file)) {
        firstResults.set(id, place);
        return withGroup(group, () => [{ group, ...ownTrajectory(run, value) }]);
      }
      const settled = firstResults.get(id) ?? place;
      firstResults.set(id, settled);
      if (settled !== place) {
        run.note("a failed attempt at a rollout that succeeded, or failed before, is left out");
        run.leaveOut(value, "the rollout succeeded, or failed before");
        return [];
      }
      run.leaveOut(value, "what failed is an exception: its messages and rewards have no place");
      return [{ group, exception: buildFailure(value) }];
    },
  };
};

const ownTrajectory = (run: FormatRun, row: Value): Partial<Rollout> => {
  const params = requireKey(row, "responses_create_params");
  const response = requireKey(row, "response");
  const ids = [row.get("_ng_task_index"), response.get("id")];
  const judged = findReward(run, { record: row, ids, own: row.get("reward") });
  const instructions = params.get("instructions");
  const before = instructions === undefined ? [] : [systemMessage(instructions)];
  // What the verifier gave.
  const metrics = metricMembers(row).filter(([key]) => !key.startsWith("_") && key !== "reward");
  const taken = new Set(["reward", ...metrics.map(([key]) => key)]);
  return buildTrajectory({
    rolloutReward: judged,
    turns: [...before, ...toMessages(run, requireKey(params, "input")), ...toTurns(run, response)],
    tools: toFunctionTools(params.get("tools")) ?? toFunctionTools(response.get("tools")),
    metrics,
    metadata: [
      ...flatMembers(row).filter(([key]) => !taken.has(key)),
      ["agent_ref.name", row.get("agent_ref", "name")],
    ],
  });
};

/** The key of a group: a task with the same index in the file of another run is another one. */
const groupOf = ({ value, file }: SourceRecord): string => {
  const run = file.replace(failureFiles, "");
  const task = value.get("_ng_task_index");
  if (task !== undefined) return JSON.stringify([run, task.raw]);
  const params = value.get("responses_create_params");
  const prompt = params?.get("input");
  if (prompt === undefined) throw new ConversionError("neither _ng_task_index nor a prompt says its group", value);
  return JSON.stringify([run, hash("sha256", `${params?.get("instructions")?.raw ?? ""}\n${prompt.raw}`, "hex")]);
};

/** Where the message of a failure can be, the plainest first. */
const messageKeys = ["_ng_failure_message", "error", "error_message", "failure_reason"];

const buildFailure = (row: Value) => {
  const message = messageKeys.map((key) => row.get(key)).find((value) => value?.isText === true);
  return buildException(message ?? literal("it failed, and no message is recorded"), row.get("_ng_failure_class"));
};
