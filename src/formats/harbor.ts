/** Trials of Harbor: one folder each, with a result and ATIF documents of the agent. */
import { dirname } from "node:path";
import { type AtifContent, atifReasons, readAtif, toHistory } from "./atif.ts";
import { openLinks } from "./atif-links.ts";
import { type Format, type FormatRun, type Rollout, reasons, type SourceRecord } from "./format.ts";
import { literal, type Member } from "./output-json.ts";
import { buildException, buildTrajectory, findReward, withGroup } from "./rollout.ts";
import { ConversionError, flatMembers, itemsAt, type Members, metricMembers, requireKey, type Value } from "./value.ts";

/** The path of a trial's document from its result, and of each step if it has several. */
const trajectoryFile = "agent/trajectory.json";
const stepFile = (name: string): string => `steps/${name}/${trajectoryFile}`;

export const harbor: Format = {
  name: "harbor",
  title: "trials of Harbor",
  keys: {
    group: "task_checksum, else task_name, in each job",
    reward: "verifier_result.rewards.reward",
    sampled: "the agent's steps",
  },
  records: { text: "document" },
  filePattern: /(?:^|[/\\])result\.json$/,
  partFolders: ["agent", "steps"],
  hasGroupsAcrossFiles: true,
  recognizes: ({ value }) =>
    value.get("trial_name")?.isText === true &&
    value.get("task_name")?.isText === true &&
    value.members().some(([key]) => /^(?:verifier_result|exception_info|agent_result|agent_info)$/.test(key)),
  open: (run) => ({ convert: (record) => rolloutsOf(run, record) }),
  leftOutReasons: [
    ...atifReasons,
    [reasons.nested, "config agent_info"],
    [reasons.onlyNumbers, "agent_result verifier_result.rewards"],
    ["the metadata contains only its type, because there are rewards", "exception_info"],
    ["only rewards, numbers and the type of an exception of a step are converted", "step_results[]"],
  ],
};

const rolloutsOf = (run: FormatRun, record: SourceRecord): readonly Rollout[] | undefined => {
  const { value, file } = record;
  if (value.get("trial_name") === undefined && value.get("stats") !== undefined) {
    run.note("skipped the result of a job, which is not a trial");
    return undefined;
  }
  const task = value.get("task_checksum") ?? value.get("task_name");
  if (task === undefined)
    throw new ConversionError("task_checksum and task_name are missing, so the group is unknown", value);
  const group = JSON.stringify([dirname(dirname(file)), task.raw]);
  const error = value.get("exception_info");
  const rewards = rewardsIn(value);
  if (error !== undefined && rewards.length === 0) {
    const message = error.get("exception_message") ?? literal("no message is recorded");
    const [type, traceback] = ["exception_type", "exception_traceback"].map((key) => error.get(key));
    return [{ group, exception: buildException(message, type, traceback) }];
  }
  return withGroup(group, () => [{ group, ...ownTrajectory(run, record, rewards) }]);
};

const rewardsIn = (value: Value): Members => metricMembers(value.get("verifier_result", "rewards"));

const ownTrajectory = (run: FormatRun, record: SourceRecord, rewards: Members): Partial<Rollout> => {
  const { value } = record;
  const ids = [value.get("trial_name"), value.get("id")];
  const reward = findReward(run, { record: value, ids, own: () => rewardIn(value, rewards) });
  const parts = readParts(run, record);
  const [{ atif }, ...others] = parts;
  // Steps share their environment, but no context.
  const besides = others.flatMap(({ atif }) => [atif.main, ...atif.others]);
  const type = value.get("exception_info", "exception_type");
  const trajectory = buildTrajectory({
    reward,
    ...atif.main,
    histories: [...atif.others, ...besides].map(toHistory),
    metrics: [
      ...parts.flatMap(({ metrics }) => metrics),
      ...metricMembers(value.get("agent_result")),
      ...rewards.filter(([key]) => key !== "reward"),
    ],
    // Values of the result override those of the document.
    metadata: new Map<string, Member[1]>([
      ...atif.metadata,
      ...flatMembers(value),
      ...parts.flatMap(({ metadata }) => metadata),
      ...(type === undefined ? [] : [["exception_type", type] as const]),
    ]),
    startTime: value.get("started_at") ?? atif.startTime,
    identity: parts.map(({ atif }) => atif.identity).join(""),
  });
  return { ...trajectory, documents: parts.flatMap(({ document, atif }) => [document, ...atif.documents]) };
};

/** Returns the reward named reward. @throws ConversionError if there are only others */
const rewardIn = (value: Value, rewards: Members): Value | undefined => {
  const own = rewards.find(([key]) => key === "reward")?.[1];
  const [other] = rewards;
  if (own !== undefined || other === undefined) return own;
  const names = rewards.map(([key]) => key).join(", ");
  const wrong = `rewards contains ${names}, but not reward (pass --reward-from verifier_result.rewards.${other[0]})`;
  throw new ConversionError(wrong, value.get("verifier_result", "rewards") ?? value);
};

/** The document of a trial or of a step. */
interface TrialPart {
  readonly document: Value;
  readonly atif: AtifContent;
  readonly metrics: Members;
  readonly metadata: readonly Member[];
}

/** Reads the documents of a trial: one, or those of its steps. @throws ConversionError if all are missing */
const readParts = (run: FormatRun, record: SourceRecord): readonly [TrialPart, ...TrialPart[]] => {
  const steps = itemsAt(record.value, "step_results");
  const isOne = steps.length === 0;
  const found = isOne ? [readPart(run, record, trajectoryFile)] : steps.map((step) => readStep(run, record, step));
  const [first, ...others] = found.filter((part) => part !== undefined);
  if (first !== undefined) return [first, ...others];
  const file = isOne ? trajectoryFile : stepFile("<name>");
  throw new ConversionError(`the trajectory ${file} is missing or not JSON`, record.value);
};

const readPart = (run: FormatRun, record: SourceRecord, file: string): TrialPart | undefined => {
  const document = run.readDocument(record, file);
  if (document?.document === undefined) return undefined;
  const atif = readAtif(run, { document, file: document.document }, openLinks(run));
  return { document, atif, metrics: atif.metrics, metadata: [] };
};

/** Reads a step. Its metrics start with the name of the step. */
const readStep = (run: FormatRun, record: SourceRecord, step: Value): TrialPart | undefined => {
  // Assumed: a step's logs are in the folder with the name of the step, as those of its verifier are.
  const name = requireKey(step, "step_name");
  if (!/^\w[\w.-]*$/.test(name.text ?? "")) throw new ConversionError("step_name is not the name of a folder", name);
  const part = readPart(run, record, stepFile(name.text ?? ""));
  if (part === undefined) {
    run.note("skipped a step without a trajectory");
    return undefined;
  }
  const prefix = `steps.${name.text}`;
  const measured = [...part.metrics, ...metricMembers(step.get("agent_result")), ...rewardsIn(step)];
  return {
    ...part,
    metrics: measured.map(([key, value]) => [`${prefix}.${key}`, value]),
    metadata: [[`${prefix}.exception_type`, step.get("exception_info", "exception_type")]],
  };
};
