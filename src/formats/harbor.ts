/** Trials of Harbor: a folder each, with its result, and what the agent did as an ATIF document. */
import { dirname } from "node:path";
import { type AtifContent, atifReasons, readAtif, toHistory } from "./atif.ts";
import { openLinks } from "./atif-links.ts";
import { commonReasons, type Format, type FormatRun, type Rollout, type SourceRecord } from "./format.ts";
import { literal, type Member } from "./output-json.ts";
import { buildException, buildTrajectory, findReward, withGroup } from "./rollout.ts";
import { ConversionError, flatMembers, type Members, metricMembers, requireKey, type Value } from "./value.ts";

/** Where a trial's trajectory is, from its result; and that of a step if it has several. */
const trajectoryFile = "agent/trajectory.json";
const stepFile = (name: string): string => `steps/${name}/${trajectoryFile}`;

export const harbor: Format = {
  name: "harbor",
  title: "trials of Harbor",
  keys: {
    group: "task_checksum, else task_name, of each job",
    reward: "verifier_result.rewards.reward",
    sampled: "the agent's steps",
  },
  records: { text: "document" },
  files: /(?:^|[/\\])result\.json$/,
  partFolders: ["agent", "steps"],
  hasGroupsAcrossFiles: true,
  recognizes: ({ value }) =>
    value.get("trial_name")?.isText === true &&
    value.get("task_name")?.isText === true &&
    value.members().some(([key]) => /^(?:verifier_result|exception_info|agent_result|agent_info)$/.test(key)),
  open: (run) => ({ convert: (record) => rolloutsOf(run, record) }),
  left: [
    ...atifReasons,
    [commonReasons.nested, "config agent_info"],
    [commonReasons.onlyNumbers, "agent_result verifier_result.rewards"],
    ["beside rewards, the metadata has its type", "exception_info"],
    ["a step has a place for its rewards, measurements and type of exception", "step_results[]"],
    [commonReasons.noDurations, "environment_setup agent_setup agent_execution verifier"],
  ],
};

const rolloutsOf = (run: FormatRun, record: SourceRecord): readonly Rollout[] | undefined => {
  const { value, file } = record;
  if (value.get("trial_name") === undefined && value.get("stats") !== undefined) {
    run.note("the result of a job is no trial");
    return undefined;
  }
  const task = value.get("task_checksum") ?? value.get("task_name");
  if (task === undefined) throw new ConversionError("neither task_checksum nor task_name says its group", value);
  const group = JSON.stringify([dirname(dirname(file)), task.raw]);
  const error = value.get("exception_info");
  const rewards = rewardsIn(value);
  if (error !== undefined && rewards.length === 0) {
    run.leaveOut(value, "a trial with an exception and without rewards is an exception, whatever else it has");
    const message = error.get("exception_message") ?? literal("no message is recorded");
    return [
      { group, exception: buildException(message, error.get("exception_type"), error.get("exception_traceback")) },
    ];
  }
  return withGroup(group, () => [{ group, ...ownTrajectory(run, record, rewards) }]);
};

/** The rewards of a trial or a step. */
const rewardsIn = (value: Value): Members => metricMembers(value.get("verifier_result", "rewards"));

const ownTrajectory = (run: FormatRun, record: SourceRecord, rewards: Members): Partial<Rollout> => {
  const { value } = record;
  const ids = [value.get("trial_name"), value.get("id")];
  const judged = findReward(run, { record: value, ids, own: rewardIn(run, value, rewards) });
  const parts = readParts(run, record);
  const [first, ...others] = parts;
  // Steps share what they work on, and no context.
  const besides = others.flatMap(({ atif }) => [atif.main, ...atif.others]);
  const type = value.get("exception_info", "exception_type");
  const trajectory = buildTrajectory({
    rolloutReward: judged,
    turns: first?.atif.main.turns ?? [],
    tools: first?.atif.main.tools,
    histories: [...(first?.atif.others ?? []), ...besides].map(toHistory),
    metrics: [
      ...parts.flatMap(({ metrics }) => metrics),
      ...metricMembers(value.get("agent_result")),
      ...rewards.filter(([key]) => key !== "reward"),
    ],
    // Values of the document that the result has too are those of the result.
    metadata: new Map<string, Member[1]>([
      ...(first?.atif.metadata ?? []),
      ...flatMembers(value),
      ...parts.flatMap(({ exceptionType }) => (exceptionType === undefined ? [] : [exceptionType])),
      ...(type === undefined ? [] : [["exception_type", type] as const]),
    ]),
    startTime: value.get("started_at") ?? first?.atif.startTime,
    identity: parts.map(({ atif }) => atif.partsIdentity).join(""),
  });
  return { ...trajectory, documents: parts.flatMap(({ document, atif }) => [document, ...atif.documents]) };
};

/** The reward of that name. @throws Unfit if there are others, and the person did not choose one */
const rewardIn = (run: FormatRun, value: Value, rewards: Members): Value | undefined => {
  const own = rewards.find(([key]) => key === "reward")?.[1];
  const [other] = rewards;
  const { rewardFrom, rewards: given } = run.options;
  if (own !== undefined || other === undefined || rewardFrom !== undefined || given !== undefined) return own;
  const names = rewards.map(([key]) => key).join(", ");
  const wrong = `rewards has no reward, but ${names}: say --reward-from verifier_result.rewards.${other[0]}`;
  throw new ConversionError(wrong, value.get("verifier_result", "rewards") ?? value);
};

/** What the agent did: in one go, or in a step. */
interface TrialPart {
  readonly document: Value;
  readonly atif: AtifContent;
  readonly metrics: Members;
  /** The type of a step's exception. */
  readonly exceptionType?: Member;
}

/** The documents of a trial: one, or one for each step, as far as they exist. @throws Unfit if none does */
const readParts = (run: FormatRun, record: SourceRecord): readonly TrialPart[] => {
  const steps = record.value.get("step_results")?.items() ?? [];
  const parts =
    steps.length === 0
      ? [readPart(run, record, trajectoryFile) ?? []].flat()
      : steps.flatMap((step) => readStep(run, record, step) ?? []);
  if (parts.length > 0) return parts;
  const file = steps.length === 0 ? trajectoryFile : stepFile("<name>");
  throw new ConversionError(`its trajectory is not there, or no JSON: looked for ${file} beside it`, record.value);
};

const readPart = (run: FormatRun, record: SourceRecord, file: string): TrialPart | undefined => {
  const document = run.readDocument(record, file);
  if (document?.document === undefined) return undefined;
  const atif = readAtif(run, { document, file: document.document }, openLinks(run));
  return { document, atif, metrics: atif.metrics };
};

/** What the agent did in a step. Its metrics have the name of the step. */
const readStep = (run: FormatRun, record: SourceRecord, step: Value): TrialPart | undefined => {
  // Assumed: a step's logs are in the folder with the name of the step, as those of its verifier are.
  const name = requireKey(step, "step_name");
  if (!/^\w[\w.-]*$/.test(name.text ?? "")) throw new ConversionError("step_name is no name of a folder", name);
  const part = readPart(run, record, stepFile(name.text ?? ""));
  if (part === undefined) {
    run.note("a step's trajectory is not there: the others are read without it");
    return undefined;
  }
  const prefix = `steps.${name.text}`;
  const measured = [...part.metrics, ...metricMembers(step.get("agent_result")), ...rewardsIn(step)];
  return {
    ...part,
    metrics: measured.map(([key, value]) => [`${prefix}.${key}`, value]),
    exceptionType: [`${prefix}.exception_type`, step.get("exception_info", "exception_type")],
  };
};
