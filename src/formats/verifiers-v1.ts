/** Traces of verifiers v1, as its own runs and prime-rl write them: an episode a line, with a graph of messages for each agent. */
import { type Built, type Composed, list, object, objectOf, said, unlessEmpty } from "./built.ts";
import { type Format, type FormatRun, needed, type Rollout, rewardOf, type SourceRecord, Unfit } from "./format.ts";
import { branchesOf } from "./message-graph.ts";
import { functionTools } from "./tool-calls.ts";
import type { Value } from "./value.ts";

const nested = "the trajectory's metadata holds no nested values";

export const verifiersV1: Format = {
  name: "verifiers-v1",
  title: "traces of verifiers v1 or prime-rl",
  keys: { group: "group.id, else the task", reward: "rewards, each with its weight", sampled: "nodes that say so" },
  records: { text: "lines" },
  files: /(?:^|[./])traces\.jsonl(?:\.gz|\.zst)?$/,
  groupsAcross: true,
  recognises: ({ value }) =>
    value.get("id") !== undefined &&
    value.get("task")?.isObject === true &&
    value.get("traces")?.isList === true &&
    (value.get("errors") ?? value.get("ok")) !== undefined,
  open: (run) => new Episodes(run),
  left: {
    "traces[].nodes[].token_ids": "a logprob names the token that was sampled, and the others are made of the messages",
    "traces[].nodes[].mask": "a logprob names the token that was sampled, and the others are made of the messages",
    "traces[].nodes[].parent": "the order of the messages says it",
    "traces[].nodes[].sampled": "what was sampled is a choice, the rest are messages",
    "traces[].nodes[].timestamp": "the interface has no place for times of messages",
    "traces[].calls": "the interface has no place for models, usage and times of calls",
    "traces[].timing": "the interface has no place for durations",
    "traces[].task": "the episode's task says it",
    "traces[].errors": "errors of attempts that were made again have no place",
    "traces[].agent": nested,
    "traces[].verifiers": nested,
    "traces[].info": nested,
    "traces[].rewards": "scoring did not run",
    errors: "errors of attempts that were made again have no place",
    task: nested,
    run: nested,
  },
};

class Episodes {
  readonly #run: FormatRun;
  /** Where each episode was read first, by its id. */
  readonly #firstRead = new Map<string, string>();
  /** The agent whose trajectories are in a group under its own key: those of others are groups of their own. */
  readonly #agents = new Map<string, string>();

  constructor(run: FormatRun) {
    this.#run = run;
  }

  convert(record: SourceRecord): readonly Rollout[] {
    const { value } = record;
    if (this.#wasRead(record)) {
      this.#run.note("an episode that was read already is left out");
      this.#run.leave(value, "the episode was read already");
      return [];
    }
    const key = keyOf(record);
    const traces = needed(value, "traces", key);
    if (!traces.isList) throw new Unfit("traces is no list", traces, key);
    const rollouts = traces.items().flatMap((trace) => this.#rollouts(trace, { episode: value, key }));
    const isError = traces.items().length === 0 && value.get("errors", 0) !== undefined;
    const isLost = rollouts.length === 0 && (isError || isFailed(value));
    return isLost ? [{ group: key, exception: failureOf(this.#run, value) }] : rollouts;
  }

  /** prime-rl repeats episodes: those that it trains on stand in `effective` and in `all`. */
  #wasRead({ value, file, position }: SourceRecord): boolean {
    const id = value.get("id")?.raw;
    if (id === undefined) return false;
    const place = `${position} ${file}`;
    const first = this.#firstRead.get(id) ?? place;
    this.#firstRead.set(id, first);
    return first !== place;
  }

  #rollouts(trace: Value, { episode, key }: { readonly episode: Value; readonly key: string }): readonly Rollout[] {
    const agent = trace.get("agent");
    if (agent?.get("trainable")?.data === false) {
      this.#run.note("a trace of an agent that is not trainable is left out");
      this.#run.leave(trace, "its agent is not trainable");
      return [];
    }
    const name = agent?.get("name")?.text ?? "agent";
    const first = this.#agents.get(key) ?? name;
    this.#agents.set(key, first);
    const group = first === name ? key : `${key} ${JSON.stringify(name)}`;
    if (isFailed(trace)) return [{ group, of: trace, exception: failureOf(this.#run, trace) }];
    return [{ group, of: trace, ...this.#trajectory(trace, { episode, group }) }];
  }

  #trajectory(trace: Value, { episode, group }: { readonly episode: Value; readonly group: string }) {
    const own = rewardIn(trace, group);
    const ids = [trace.get("id"), episode.get("id")];
    const { reward, identity = "" } = rewardOf(this.#run, { record: trace, ids, own, group });
    const [main, ...others] = branchesOf(this.#run, trace, group);
    const tools = functionTools(trace.get("tools"));
    const policy = episode.get("run", "work", "policy");
    const trajectory = object({
      messages_and_choices: list(main ?? []),
      tools,
      additional_histories:
        others.length === 0
          ? undefined
          : list(others.map((turns) => object({ messages_and_choices: list(turns), tools }))),
      reward,
      initial_policy_version: policy?.get("start"),
      final_policy_version: policy?.get("end"),
      metrics: unlessEmpty(metricsOf(trace)),
      metadata: unlessEmpty(metadataOf(episode, trace)),
      start_time: startOf(trace),
    });
    return { trajectory, identity: `${identity} ${policy?.raw ?? ""}` };
  }
}

/** A group's key: groups and tasks of the same name in another run, or another file where none is named, are others. */
const keyOf = ({ value, file }: SourceRecord): string => {
  const run = value.get("run");
  const scope = run?.get("id")?.raw ?? ` ${file}`;
  const group = value.get("group", "id");
  if (group !== undefined) return JSON.stringify([scope, group.raw]);
  const task = value.get("task", "key") ?? value.get("task", "hash");
  if (task === undefined) throw new Unfit("neither group.id nor task.key nor task.hash says its group", value);
  const within = [run?.get("work", "type"), run?.get("work", "step"), value.get("env", "id")];
  return JSON.stringify([scope, ...within.map((one) => one?.raw ?? null), task.raw]);
};

const isFailed = (holder: Value): boolean => {
  const ok = holder.get("ok")?.data;
  return ok === undefined ? holder.get("errors")?.get(0) !== undefined : ok === false;
};

/** The last error of an episode or a trace: earlier ones are those of attempts before. */
const failureOf = (run: FormatRun, holder: Value): Built => {
  const errors = holder.get("errors")?.items() ?? [];
  for (const error of errors.slice(0, -1)) run.leave(error, "errors of attempts that were made again have no place");
  run.leave(holder, "what failed is an exception: its messages and rewards have no place");
  const stop = holder.get("stop_condition");
  return errors.at(-1) ?? object({ type: said("error"), message: stop ?? said("it failed, and no error is recorded") });
};

/** What was scored, by its name; scores of which scoring did not run are null. */
const scoredIn = (trace: Value): readonly (readonly [string, Value])[] =>
  (trace.get("rewards")?.members() ?? []).filter(([, { isNull }]) => !isNull);

/** The sum of all scores, each times its weight; undefined where nothing was scored. */
const rewardIn = (trace: Value, group: string): Built | undefined => {
  const scored = scoredIn(trace).map(([name, reward]) => {
    const [score, weight] = [needed(reward, "score", group), reward.get("weight")];
    const value = (score.number ?? Number.NaN) * (weight === undefined ? 1 : (weight.number ?? Number.NaN));
    if (!Number.isFinite(value)) throw new Unfit(`score and weight of ${name} are no numbers`, reward, group);
    return { score, weight, value };
  });
  const [only] = scored;
  if (only === undefined) return undefined;
  const of = scored.flatMap(({ score, weight }) => [score, ...(weight === undefined ? [] : [weight])]);
  // One score that counts as it is keeps its digits.
  if (scored.length === 1 && (only.weight?.number ?? 1) === 1) return { kind: "said", json: only.score.raw, of };
  return said(
    scored.reduce((sum, { value }) => sum + value, 0),
    ...of,
  );
};

const metricsOf = (trace: Value): Composed =>
  objectOf([
    ...(trace.get("metrics")?.members() ?? []).filter(([, { isMeasured }]) => isMeasured),
    ...scoredIn(trace).map(([name, reward]) => [`rewards.${name}`, reward.get("score")] as const),
  ]);

/** What of an episode goes into the metadata of its trajectories beside what stands at its top, and at a trace's. */
const named =
  "env.id env.name task.type task.key task.hash group.id run.type run.id run.name run.work.type run.work.step";

const metadataOf = (episode: Value, trace: Value): Composed => {
  const scalars = (value: Value) => value.members().filter(([, { isFlat }]) => isFlat);
  return objectOf([
    ...scalars(trace),
    ...scalars(episode).map(([key, value]) => [`episode.${key}`, value] as const),
    ...named.split(" ").map((path) => [path, episode.get(...path.split("."))] as const),
    ["agent.name", trace.get("agent", "name")],
  ]);
};

/** When it began: Unix seconds, their fraction as it was written. */
const startOf = (trace: Value): Built | undefined => {
  const start = trace.get("timing", "start");
  const [, seconds, fraction = ""] = /^(\d{1,11})(?:\.(\d{1,9}))?$/.exec(start?.raw ?? "") ?? [];
  if (seconds === undefined || Number(seconds) === 0) return undefined;
  const time = new Date(Number(seconds) * 1000).toISOString().slice(0, "2025-01-01T00:00:00".length);
  return said(`${time}${Number(fraction) === 0 ? "" : `.${fraction}`}Z`, start);
};
