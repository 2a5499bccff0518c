/** Rollouts of NeMo Gym: a line each, with a prompt and a response of the Responses API, and a verifier's verdict. */
import { hash } from "node:crypto";
import { said } from "./built.ts";
import { type Converter, type Format, type FormatRun, type Rollout, type SourceRecord, why } from "./format.ts";
import { functionTools, systemTurn } from "./messages.ts";
import { givenItems, sampledItems } from "./responses.ts";
import { exceptionOf, inGroup, judge, trajectoryOf } from "./rollout.ts";
import { flatIn, measuredIn, needed, Unfit, type Value } from "./value.ts";

/** Files next to the rollouts: of attempts that failed, and of what are not rollouts. */
const failures = /_failures(?=\.jsonl(?:\.gz|\.zst)?$)/;
const others = /_(?:materialized_inputs|reward_profiling)\.jsonl(?:\.gz|\.zst)?$/;

export const nemoGym: Format = {
  name: "nemo-gym",
  title: "rollouts of NeMo Gym",
  keys: { group: "_ng_task_index, else the prompt", reward: "reward", sampled: "response.output" },
  records: { text: "lines" },
  groupsAcross: true,
  last: failures,
  recognizes: ({ value, file }) =>
    (value.get("responses_create_params")?.isObject === true && value.get("response", "output")?.isList === true) ||
    (value.get("_ng_failure_class") !== undefined && value.get("_ng_task_index") !== undefined) ||
    (others.test(file) && value.isObject),
  open: (run) => rows(run),
  left: [
    ["a chat message has no place for it", "responses_create_params.input[] response.output[]"],
    [why.onlyFunctions, "responses_create_params.tools[]"],
    ["the interface has no place for settings of a request", "responses_create_params"],
    ["no logprobs are recorded with them", "response.output[].generation_token_ids"],
    ["they are made of the messages", "response.output[].prompt_token_ids"],
    [why.noUsage, "response.usage"],
    ["the interface has no place for what a response says of itself", "response"],
    [why.nested, "agent_ref"],
  ],
};

const rows = (run: FormatRun): Converter => {
  /** Where each rollout succeeded, or failed first. */
  const settledAt = new Map<string, string>();
  return {
    convert: (record) => {
      const { value, file, position } = record;
      if (others.test(file)) {
        run.note("a row of inputs or of a profile is no rollout");
        return [];
      }
      const group = groupOf(record);
      const place = `${position} ${file}`;
      const rollout = value.get("_ng_rollout_index");
      const id = rollout === undefined ? place : `${group} ${rollout.raw}`;
      if (value.get("_ng_failure_class") === undefined && !failures.test(file)) {
        settledAt.set(id, place);
        return inGroup(group, () => [{ group, ...ownTrajectory(run, value) }]);
      }
      const settled = settledAt.get(id) ?? place;
      settledAt.set(id, settled);
      if (settled !== place) {
        run.note("a failed attempt at a rollout that succeeded, or failed before, is left out");
        run.leave(value, "the rollout succeeded, or failed before");
        return [];
      }
      run.leave(value, "what failed is an exception: its messages and rewards have no place");
      return [{ group, exception: failureOf(value) }];
    },
  };
};

const ownTrajectory = (run: FormatRun, row: Value): Partial<Rollout> => {
  const params = needed(row, "responses_create_params");
  const response = needed(row, "response");
  const ids = [row.get("_ng_task_index"), response.get("id")];
  const judged = judge(run, { record: row, ids, own: row.get("reward") });
  const instructions = params.get("instructions");
  const before = instructions === undefined ? [] : [systemTurn(instructions)];
  // What the verifier gave.
  const metrics = measuredIn(row).filter(([key]) => !key.startsWith("_") && key !== "reward");
  const taken = new Set(["reward", ...metrics.map(([key]) => key)]);
  return trajectoryOf({
    judged,
    turns: [...before, ...givenItems(run, needed(params, "input")), ...sampledItems(run, response)],
    tools: functionTools(params.get("tools")) ?? functionTools(response.get("tools")),
    metrics,
    metadata: [...flatIn(row).filter(([key]) => !taken.has(key)), ["agent_ref.name", row.get("agent_ref", "name")]],
  });
};

/** The key of a group: a task with the same index in the file of another run is another one. */
const groupOf = ({ value, file }: SourceRecord): string => {
  const run = file.replace(failures, "");
  const task = value.get("_ng_task_index");
  if (task !== undefined) return JSON.stringify([run, task.raw]);
  const params = value.get("responses_create_params");
  const prompt = params?.get("input");
  if (prompt === undefined) throw new Unfit("neither _ng_task_index nor a prompt says its group", value);
  return JSON.stringify([run, hash("sha256", `${params?.get("instructions")?.raw ?? ""}\n${prompt.raw}`, "hex")]);
};

/** Where the message of a failure can be, the plainest first. */
const messageKeys = ["_ng_failure_message", "error", "error_message", "failure_reason"];

const failureOf = (row: Value) => {
  const message = messageKeys.map((key) => row.get(key)).find((value) => value?.isText === true);
  return exceptionOf(message ?? said("it failed, and no message is recorded"), row.get("_ng_failure_class"));
};
