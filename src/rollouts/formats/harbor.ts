/** Converts trials of Harbor, which are folders with a result.json and ATIF documents. */
import { dirname } from "node:path";
import type { Members, Value } from "../../json/value.ts";
import { readAtif } from "./atif.ts";
import { buildException, buildTrajectory, findReward, suggestPaths } from "./build-trajectory.ts";
import type { Format, FormatRun, SourceRecord } from "./format.ts";

/** The trials of a list are folders next to the list. */
const pathOfTrajectory = ({ value, isListed = false }: SourceRecord) =>
  `${isListed ? `${value.textAt("trial_name")}/` : ""}agent/trajectory.json`;

export const harbor: Format = {
  name: "harbor",
  title: "trials of Harbor",
  keys: {
    group: "the trials of one job with the same agent, model and task_checksum (or task_name)",
    reward: "`verifier_result.rewards.reward`",
    sampled: "the agent's steps",
  },
  records: { text: "documents" },
  filePattern: /(?:^|\/)result\.json$/,
  companions: /(?:^|\/)config\.json$/,
  partFolders: /^(?:agent|artifacts|steps|verifier)$/,
  groupScope: (file) => dirname(dirname(file)),
  recognizes: ({ value }) =>
    value.get("trial_name")?.isText &&
    value.get("task_name")?.isText &&
    value.members().some(([key]) => /^(?:verifier_result|exception_info|agent_result|agent_info)$/.test(key)),
  open: (run) => ({ convert: (record) => convertRollouts(run, record) }),
};

const convertRollouts = (run: FormatRun, record: SourceRecord) => {
  const { value, file } = record;
  // The result of a job is not a trial.
  if (!value.has("trial_name") && value.has("stats")) return undefined;
  const task = value.get("task_checksum") ?? value.get("task_name");
  if (!task) throw value.error("task_checksum and task_name are missing, so the group is unknown");
  record.group = {
    key: JSON.stringify([dirname(dirname(file)), task.raw, ...listPolicy(value)]),
    by: "job, agent, model and task",
  };
  record.id = value.textAt("id");
  const error = value.get("exception_info");
  const rewards = value.metricMembers("verifier_result", "rewards");
  // A damaged trajectory is an error, although the trial failed.
  if (error && (rewards.length === 0 || !run.readDocument(record, pathOfTrajectory(record)))) {
    const [message, type, traceback] = ["message", "type", "traceback"].map((key) => error.get(`exception_${key}`));
    return [{ exception: buildException(message, type, traceback) }];
  }
  const steps = value.get("step_results");
  // The other trials of the task stay a group.
  if (steps?.has(0)) record.group = { key: JSON.stringify([file, task.raw]) };
  if (steps?.has(0)) throw steps.error("trials of several steps are not supported (omit the trial)");
  return [convertTrajectory(run, record, rewards)];
};

/** A job can have several agents and models. */
const listPolicy = (value: Value) => {
  const [agent, config] = [value.get("agent_info"), value.get("config", "agent")];
  return [agent?.get("name") ?? config?.get("name"), agent?.get("model_info") ?? config?.get("model_name")].map(
    (part) => part?.data,
  );
};

const convertTrajectory = (run: FormatRun, record: SourceRecord, rewards: Members) => {
  const { value } = record;
  const ids = [value.get("trial_name"), value.get("id")];
  const reward = findReward(run, { record: value, ids, readOwn: () => readReward(value, rewards) });
  const type = value.get("exception_info", "exception_type");
  if (type) run.note("counted a rollout with a reward and a failure, which `exception_info` states");
  const agent = run.readDocument(record, pathOfTrajectory(record));
  if (agent?.document === undefined)
    throw value.error(`the trajectory ${pathOfTrajectory(record)} is missing (add the file to the trial's folder)`);
  const atif = readAtif(run, { value: agent, file: agent.document });
  const trajectory = buildTrajectory({
    ...atif,
    reward,
    metrics: [...atif.metrics, ...value.metricMembers("agent_result"), ...rewards.filter(([key]) => key !== "reward")],
    // Values of result.json override values of the ATIF document.
    metadata: [...atif.metadata, ...value.flatMembers(), ["exception_type", type]],
    startTime: value.get("started_at") ?? atif.startTime,
  });
  return { ...trajectory, documents: [agent, ...atif.documents] };
};

const readReward = (value: Value, rewards: Members) => {
  const names = rewards.map(([key]) => key);
  const reward = rewards[names.indexOf("reward")]?.[1];
  if (reward || names.length === 0) return reward;
  const option = suggestPaths(names.map((name) => `verifier_result.rewards.${name}`));
  const wrong = `rewards contains ${names.join(", ")}, but not reward (pass ${option})`;
  throw (value.get("verifier_result", "rewards") ?? value).error(wrong);
};
