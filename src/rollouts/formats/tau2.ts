/** Converts results of tau2-bench. */
import { basename, dirname, join } from "node:path";
import { decidedChoice, hasCalls, toToolCalls } from "../../conversation/apis/openai.ts";
import type { Value } from "../../json/value.ts";
import * as build from "./build-trajectory.ts";
import type { Format, FormatRun, Rollout, SourceRecord } from "./format.ts";

export const tau2: Format = {
  name: "tau2",
  title: "results of tau2-bench",
  keys: {
    group: "the simulations with the same domain and task_id",
    reward: "`reward_info.reward`",
    sampled: "the assistant's turns except the opening greeting",
  },
  records: { text: "documents" },
  filePattern: /(?:^|\/)(?:results|simulations\/[^/]+)\.json$/,
  groupScope: (file) => (partFile.test(file) ? resultsOf(file) : join(file)),
  recognizes: ({ value }) =>
    (isSimulation(value) && (value.has("reward_info") || value.isNullAt("reward_info")) && value.has("trial")) ||
    (value.get("simulations")?.items() ?? []).some(isSimulation) ||
    (value.has("info", "agent_info") &&
      value.get("tasks")?.isList &&
      (value.get("simulations") ?? value.get("simulation_index"))?.isList),
  open: (run) => ({ convert: (record) => convertRollouts(run, record) }),
};

const partFile = /(?:^|[/\\])simulations[/\\][^/\\]+$/;

/** The results.json of a file in `simulations/`. */
const resultsOf = (file: string) => join(dirname(file), "..", "results.json");

const isSimulation = (value: Value) =>
  value.has("task_id") && value.has("termination_reason") && (value.get("messages") ?? value.get("ticks"))?.isList;

type Results = Readonly<{ file: string; value: Value | undefined }>;

const convertRollouts = (run: FormatRun, record: SourceRecord) => {
  const { value, file } = record;
  const simulations = value.get("simulations");
  if (simulations?.isList)
    return simulations.items().flatMap((simulation) => convertRollout(run, simulation, { file, value }));
  if (value.has("info") && value.has("tasks")) return listMissing(run, record);
  const results = run.readSettings(record, join("..", "results.json"));
  if (!results) run.note("the results.json that tau2-bench writes is missing, so the domain is unknown");
  return convertRollout(run, value, { file: resultsOf(file), value: results });
};

/** Returns an error for each missing simulation, because its group is incomplete. */
const listMissing = (run: FormatRun, { value, file }: SourceRecord) => {
  const folder = join(dirname(file), "simulations");
  const present = run.files.filter((name) => dirname(join(name)) === folder);
  const ids = new Set(present.map((name) => basename(name).replace(/\.json.*$/, "")));
  const missing = value.items("simulation_index").filter((entry) => !ids.has(entry.textAt("id") ?? ""));
  const wrong =
    "the simulation has no file in simulations/ (pass the folder that contains results.json and simulations/)";
  const results = { file: join(file), value };
  return missing.map((part) => ({ group: findGroup(part, results), part, error: part.error(wrong) }));
};

const convertRollout = (run: FormatRun, simulation: Value, results: Results): readonly Rollout[] => {
  const info = simulation.get("reward_info");
  const skipped = info && build.skipUnscored(run, info.get("reward"));
  if (skipped) return skipped;
  const facts = { group: findGroup(simulation, results), id: simulation.textAt("id") };
  const rollout = build.convertPart(simulation, facts, () => {
    simulation.require("task_id");
    const ticks = simulation.get("ticks");
    if (ticks) throw ticks.error("voice simulations (with ticks) are not supported (omit the simulation)");
    const reason = simulation.get("termination_reason");
    // tau2-bench does not count such a simulation, also if a reward was added later.
    if (!info || reason?.text === "infrastructure_error") {
      const [error, traceback] = ["error", "error_traceback"].map((key) => simulation.get("info", key));
      const why = info ? "the infrastructure failed" : "the simulation has no reward_info";
      return { exception: build.buildException(error ?? why, reason ?? "unscored", traceback) };
    }
    const parts = info.members("reward_breakdown").map(([key, value]) => [`reward_breakdown.${key}`, value] as const);
    const measures = metricKeys.map((key) => [key, simulation.get(key)] as const);
    const isMetadata = (key: string, { isNumber }: Value) =>
      !["messages", "ticks", "reward_info"].includes(key) && !(isNumber && metricKeys.includes(key));
    return build.buildTrajectory({
      reward: build.findReward(run, {
        record: simulation,
        ids: [simulation.get("id")],
        readOwn: () => info.get("reward"),
      }),
      turns: convertTurns(run, simulation, results),
      metrics: [...parts, ...measures].filter(([, value]) => value?.isNumber),
      metadata: [
        ...simulation.flatMembers().filter(([key, value]) => isMetadata(key, value)),
        ["domain", domainOf(results)],
        ["model", results.value?.get("info", "agent_info", "llm")],
      ],
    });
  });
  return [rollout];
};

/** Other numbers identify a simulation, so these numbers are metadata. */
const metricKeys = ["duration", "agent_cost", "user_cost"];

const domainOf = ({ value }: Results) => value?.get("info", "environment_info", "domain_name");

const findGroup = (simulation: Value, results: Results) => {
  const task = simulation.get("task_id");
  return task && { key: `${results.file} ${domainOf(results)?.text ?? ""} ${task.plain}`, by: "domain and task_id" };
};

const convertTurns = (run: FormatRun, simulation: Value, { value }: Results) => {
  const recorded = simulation.requireItems("messages");
  const hasPrompt = recorded[0]?.textAt("role") === "system";
  if (!hasPrompt && recorded.length > 0)
    run.note("the agent's system prompt is not recorded, so the messages begin without it");
  const id = simulation.require("task_id").plain;
  return convertMessages(
    run,
    recorded,
    value?.items("tasks").find((task) => task.get("id")?.plain === id),
  );
};

/** A run begins with the messages of its task, which no model sampled, or with the greeting. */
export const convertMessages = (run: FormatRun, recorded: readonly Value[], task: Value | undefined) => {
  const messages = listMessages(recorded);
  const opening = messages.findIndex((message) => message.textAt("role") !== "system");
  const scripted = listMessages(task?.items("initial_state", "message_history") ?? []).length;
  if (scripted > 0) run.note("kept the turns of the task's message_history as messages, because no model sampled them");
  return messages.flatMap((message, at) =>
    convertTurn(run, message, { isOpening: at === opening, isScripted: at < opening + scripted }),
  );
};

const listMessages = (recorded: readonly Value[]) =>
  recorded.flatMap((message) => message.get("tool_messages")?.items() ?? [message]);

type Origin = Readonly<{ isOpening: boolean; isScripted: boolean }>;

const convertTurn = (run: FormatRun, message: Value, origin: Origin) => {
  const [role, content] = [message.get("role"), message.get("content")];
  if (role?.isText !== true) throw message.error("a message has no role");
  if (role.text === "assistant") return [agentTurn(run, message, origin)];
  const isUsersOwn =
    role.text === "user" ? hasCalls(message) && !content?.text?.trim() : message.textAt("requestor") === "user";
  if (isUsersOwn) return run.skip("a tool message of the simulated user, because the agent did not see it");
  const tool_call_id = role.text === "tool" ? message.get("id") : undefined;
  const error = message.get("error");
  return [{ role, tool_call_id, content: content ?? "", is_error: error?.isTrue ? error : undefined }];
};

const agentTurn = (run: FormatRun, message: Value, { isOpening, isScripted }: Origin) => {
  const raw = message.get("raw_data");
  const tool_calls = toToolCalls(message);
  const turn = { role: message.get("role"), content: message.get("content") ?? null, tool_calls };
  if (isScripted || (!raw && isOpening && !tool_calls)) return turn;
  const first = raw?.get("choices", 0);
  const recorded = [raw, first].find((value) => value?.get("finish_reason")?.isText && value.get("message")?.isObject);
  if (recorded) {
    run.unread?.keep(message);
    return recorded;
  }
  return decidedChoice(run, turn, [first?.get("finish_reason")]);
};
