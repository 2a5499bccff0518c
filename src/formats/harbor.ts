/** Trials of Harbor: a folder each, with its result, and what the agent did as an ATIF document. */
import { dirname } from "node:path";
import { leftOfAtif } from "./atif.ts";
import { type AtifReading, readAtif } from "./atif-histories.ts";
import { Links } from "./atif-links.ts";
import { type Built, list, object, objectOf, said, unlessEmpty } from "./built.ts";
import { type Format, type FormatRun, needed, type Rollout, rewardOf, type SourceRecord, Unfit } from "./format.ts";
import type { Value } from "./value.ts";

/** Where a trial's trajectory is, from its result, and that of a step of one that has several. */
const trajectoryFile = "agent/trajectory.json";
const stepFile = (name: string): string => `steps/${name}/${trajectoryFile}`;

const durations = "the interface has no place for durations";

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
  partsIn: ["agent", "steps"],
  groupsAcross: true,
  recognises: ({ value }) =>
    value.get("trial_name")?.isText === true &&
    value.get("task_name")?.isText === true &&
    value.members().some(([key]) => /^(?:verifier_result|exception_info|agent_result|agent_info)$/.test(key)),
  open: (run) => ({ convert: (record) => rolloutsOf(run, record) }),
  left: {
    ...leftOfAtif,
    config: "the trajectory's metadata holds no nested values",
    agent_info: "the trajectory's metadata holds no nested values",
    "agent_result.metadata": "metrics are numbers",
    agent_result: "metrics are numbers",
    "verifier_result.rewards": "metrics are numbers",
    exception_info: "beside rewards, the metadata has its type",
    "step_results[]": "a step has a place for its rewards, measurements and type of exception",
    environment_setup: durations,
    agent_setup: durations,
    agent_execution: durations,
    verifier: durations,
  },
};

const rolloutsOf = (run: FormatRun, record: SourceRecord): readonly Rollout[] | undefined => {
  const { value, file } = record;
  if (value.get("trial_name") === undefined && value.get("stats") !== undefined) {
    run.note("the result of a job is no trial");
    return undefined;
  }
  const task = value.get("task_checksum") ?? value.get("task_name");
  if (task === undefined) throw new Unfit("neither task_checksum nor task_name says its group", value);
  const group = JSON.stringify([dirname(dirname(file)), task.raw]);
  const error = value.get("exception_info");
  const rewards = (value.get("verifier_result", "rewards")?.members() ?? []).filter(([, { isMeasured }]) => isMeasured);
  if (error !== undefined && rewards.length === 0) {
    run.leave(value, "a trial with an exception and without rewards is an exception, whatever else it has");
    return [{ group, exception: exceptionOf(error) }];
  }
  return [{ group, ...trajectoryOf(run, record, { group, rewards }) }];
};

const trajectoryOf = (
  run: FormatRun,
  record: SourceRecord,
  { group, rewards }: { readonly group: string; readonly rewards: readonly (readonly [string, Value])[] },
): Pick<Rollout, "trajectory" | "identity" | "with"> => {
  const { value } = record;
  const { reward, identity = "" } = rewardOf(run, {
    record: value,
    ids: [value.get("trial_name"), value.get("id")],
    own: ownReward(run, value, { group, rewards }),
    group,
  });
  const parts = partsOf(run, record, group);
  const [first] = parts;
  const trajectory = object({
    ...historiesOf(parts),
    reward,
    metrics: unlessEmpty(
      objectOf([
        ...parts.flatMap(({ metrics }) => metrics),
        ...resultMetrics(value),
        ...rewards.filter(([key]) => key !== "reward"),
      ]),
    ),
    metadata: unlessEmpty(metadataOf(value, parts)),
    start_time: value.get("started_at") ?? first?.atif.startTime,
  });
  const documents = parts.flatMap(({ document, atif }) => [document, ...atif.documents]);
  return { identity: identity + parts.map(({ atif }) => atif.form).join(""), with: documents, trajectory };
};

/** What the agent did: in one go, or in a step. */
interface Part {
  readonly document: Value;
  readonly atif: AtifReading;
  readonly metrics: readonly (readonly [string, Value])[];
  /** The type of a step's exception. */
  readonly exception?: readonly [string, Value | undefined];
}

/** The documents of a trial: of several steps one each, as far as they are there. @throws Unfit where none is */
const partsOf = (run: FormatRun, record: SourceRecord, group: string): readonly Part[] => {
  const steps = record.value.get("step_results")?.items() ?? [];
  const parts =
    steps.length === 0
      ? [partAt(run, record, { file: trajectoryFile, group }) ?? []].flat()
      : steps.flatMap((step) => stepPart(run, record, { step, group }) ?? []);
  if (parts.length > 0) return parts;
  const file = steps.length === 0 ? trajectoryFile : stepFile("<name>");
  throw new Unfit(`its trajectory is not there, or no JSON: looked for ${file} beside it`, record.value, group);
};

const partAt = (
  run: FormatRun,
  record: SourceRecord,
  { file, group }: { readonly file: string; readonly group: string },
): Part | undefined => {
  const document = run.beside(record, file);
  if (document?.document === undefined) return undefined;
  const located = { document, file: document.document };
  const atif = readAtif(run, { located, links: new Links(run), group });
  return { document, atif, metrics: atif.metrics };
};

/** What the agent did in a step; what was measured of it is called by its name. */
const stepPart = (
  run: FormatRun,
  record: SourceRecord,
  { step, group }: { readonly step: Value; readonly group: string },
): Part | undefined => {
  // Assumed: a step's logs stand in the folder that is called as the step is, as its verifier's do.
  const name = needed(step, "step_name", group);
  if (!/^\w[\w.-]*$/.test(name.text ?? "")) throw new Unfit("step_name is no name of a folder", name, group);
  const part = partAt(run, record, { file: stepFile(name.text ?? ""), group });
  if (part === undefined) {
    run.note("a step's trajectory is not there: the others are read without it");
    return undefined;
  }
  const rewards = (step.get("verifier_result", "rewards")?.members() ?? []).filter(([, { isMeasured }]) => isMeasured);
  const measured = [...part.metrics, ...resultMetrics(step), ...rewards];
  return {
    ...part,
    metrics: measured.map(([key, value]) => [`steps.${name.text}.${key}`, value]),
    exception: [`steps.${name.text}.exception_type`, step.get("exception_info", "exception_type")],
  };
};

/** The first part's history, with all others beside it: steps share what they work on, and no context. */
const historiesOf = ([first, ...others]: readonly Part[]): Readonly<Record<string, Built | undefined>> => {
  if (first === undefined || others.length === 0) return first?.atif.histories ?? {};
  const besides = ({ atif: { histories } }: Part): readonly Built[] => {
    const own = histories.additional_histories;
    return own !== undefined && "kind" in own && own.kind === "list" ? own.values : [];
  };
  const { messages_and_choices, tools } = first.atif.histories;
  const more = others.flatMap((one) => {
    const { additional_histories: _, ...history } = one.atif.histories;
    return [object(history), ...besides(one)];
  });
  return { messages_and_choices, tools, additional_histories: list([...besides(first), ...more]) };
};

/** The reward of that name. @throws Unfit where others are there, and nobody said which is meant */
const ownReward = (
  run: FormatRun,
  value: Value,
  { group, rewards }: { readonly group: string; readonly rewards: readonly (readonly [string, Value])[] },
): Value | undefined => {
  const own = rewards.find(([key]) => key === "reward")?.[1];
  const [other] = rewards;
  const { rewardFrom, rewards: given } = run.asked;
  if (own !== undefined || other === undefined || rewardFrom !== undefined || given !== undefined) return own;
  const names = rewards.map(([key]) => key).join(", ");
  const wrong = `rewards has no reward, but ${names}: say --reward-from verifier_result.rewards.${other[0]}`;
  throw new Unfit(wrong, value.get("verifier_result", "rewards") ?? value, group);
};

const resultMetrics = (value: Value): readonly (readonly [string, Value])[] =>
  (value.get("agent_result")?.members() ?? []).filter(([, { isMeasured }]) => isMeasured);

/** Scalars of the result, and of the document those that it has not. */
const metadataOf = (value: Value, parts: readonly Part[]) => {
  const own = value.members().filter(([, { isFlat }]) => isFlat);
  const type = value.get("exception_info", "exception_type");
  return objectOf(
    new Map<string, Built | undefined>([
      ...(parts[0]?.atif.metadata ?? []),
      ...own,
      ...parts.flatMap(({ exception }) => (exception === undefined ? [] : [exception])),
      ...(type === undefined ? [] : ([["exception_type", type]] as const)),
    ]),
  );
};

const exceptionOf = (error: Value): Built =>
  object({
    type: error.get("exception_type") ?? said("error"),
    message: error.get("exception_message") ?? said("no message is recorded"),
    traceback: error.get("exception_traceback"),
  });
