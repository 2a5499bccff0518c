/** Rollouts of NeMo Gym: a line each, a prompt and a response of the Responses API with what its verifier says. */
import { hash } from "node:crypto";
import { type Built, type Composed, list, object, objectOf, said, unlessEmpty } from "./built.ts";
import { type Format, type FormatRun, needed, type Rollout, rewardOf, type SourceRecord, Unfit } from "./format.ts";
import { givenItems, sampledItems } from "./responses.ts";
import { functionTools } from "./tool-calls.ts";
import type { Value } from "./value.ts";

/** Files beside the rollouts: of attempts that failed, and of what are no rollouts. */
const failures = /_failures(?=\.jsonl(?:\.gz|\.zst)?$)/;
const others = /_(?:materialized_inputs|reward_profiling)\.jsonl(?:\.gz|\.zst)?$/;

const asked = "the interface has no place for settings of a request";
const answered = "the interface has no place for what a response says of itself";
const item = "a chat message has no place for it";

export const nemoGym: Format = {
  name: "nemo-gym",
  title: "rollouts of NeMo Gym",
  keys: { group: "_ng_task_index, else the prompt", reward: "reward", sampled: "response.output" },
  records: { text: "lines" },
  groupsAcross: true,
  last: failures,
  recognises: ({ value, file }) =>
    (value.get("responses_create_params")?.isObject === true && value.get("response", "output")?.isList === true) ||
    (value.get("_ng_failure_class") !== undefined && value.get("_ng_task_index") !== undefined) ||
    (others.test(file) && value.isObject),
  open: (run) => new Rows(run),
  left: {
    "responses_create_params.input[]": item,
    "responses_create_params.tools[]": "only function tools have a place",
    responses_create_params: asked,
    "response.output[].generation_token_ids": "no logprobs are recorded with them",
    "response.output[].prompt_token_ids": "they are made of the messages",
    "response.output[]": item,
    "response.usage": "the interface has no place for usage",
    response: answered,
    agent_ref: "the trajectory's metadata holds no nested values",
  },
};

class Rows {
  readonly #run: FormatRun;
  /** Where a rollout succeeded, or failed first. */
  readonly #settled = new Map<string, string>();

  constructor(run: FormatRun) {
    this.#run = run;
  }

  convert(record: SourceRecord): readonly Rollout[] {
    const { value, file, position } = record;
    if (others.test(file)) {
      this.#run.note("a row of inputs or of a profile is no rollout");
      return [];
    }
    const group = groupOf(record);
    const place = `${position} ${file}`;
    const rollout = value.get("_ng_rollout_index");
    const id = rollout === undefined ? place : `${group} ${rollout.raw}`;
    if (value.get("_ng_failure_class") === undefined && !failures.test(file)) {
      this.#settled.set(id, place);
      return [{ group, ...this.#trajectory(value, group) }];
    }
    const settled = this.#settled.get(id) ?? place;
    this.#settled.set(id, settled);
    if (settled !== place) {
      this.#run.note("a failed attempt at a rollout that succeeded, or failed before, is left out");
      this.#run.leave(value, "the rollout succeeded, or failed before");
      return [];
    }
    this.#run.leave(value, "what failed is an exception: its messages and rewards have no place");
    return [{ group, exception: exceptionOf(value) }];
  }

  #trajectory(row: Value, group: string): Pick<Rollout, "trajectory" | "identity"> {
    const params = needed(row, "responses_create_params", group);
    const response = needed(row, "response", group);
    const ids = [row.get("_ng_task_index"), response.get("id")];
    const { reward, identity } = rewardOf(this.#run, { record: row, ids, own: row.get("reward"), group });
    const trajectory = object({
      messages_and_choices: list(this.#turns(params, { response, group })),
      tools: functionTools(params.get("tools")) ?? functionTools(response.get("tools")),
      reward,
      metrics: unlessEmpty(metricsOf(row)),
      metadata: unlessEmpty(metadataOf(row)),
    });
    return { identity, trajectory };
  }

  #turns(params: Value, { response, group }: { readonly response: Value; readonly group: string }): readonly Built[] {
    const reading = { run: this.#run, group };
    const instructions = params.get("instructions");
    return [
      ...(instructions === undefined ? [] : [object({ role: said("system"), content: instructions })]),
      ...givenItems(needed(params, "input", group), reading),
      ...sampledItems(response, reading),
    ];
  }
}

/** A group's key: a task of the same index in another run's file is another. */
const groupOf = ({ value, file }: SourceRecord): string => {
  const run = file.replace(failures, "");
  const task = value.get("_ng_task_index");
  if (task !== undefined) return JSON.stringify([run, task.raw]);
  const params = value.get("responses_create_params");
  const prompt = params?.get("input");
  if (prompt === undefined) throw new Unfit("neither _ng_task_index nor a prompt says its group", value);
  return JSON.stringify([run, hash("sha256", `${params?.get("instructions")?.raw ?? ""}\n${prompt.raw}`, "hex")]);
};

/** Where a failure says what happened, the plainest first. */
const messageKeys = ["_ng_failure_message", "error", "error_message", "failure_reason"];

const exceptionOf = (row: Value): Built => {
  const message = messageKeys.map((key) => row.get(key)).find((value) => value?.isText === true);
  return object({
    type: row.get("_ng_failure_class") ?? said("error"),
    message: message ?? said("it failed, and no message is recorded"),
  });
};

/** Numbers and truth values at the top of a row that the verifier gave. */
const metricsOf = (row: Value): Composed =>
  objectOf(row.members().filter(([key, { isMeasured }]) => isMeasured && !key.startsWith("_") && key !== "reward"));

const metadataOf = (row: Value): Composed => {
  const metrics = new Set(metricsOf(row).keys);
  const own = row.members().filter(([key, { isFlat }]) => isFlat && key !== "reward" && !metrics.has(key));
  return objectOf([...own, ["agent_ref.name", row.get("agent_ref", "name")]]);
};
