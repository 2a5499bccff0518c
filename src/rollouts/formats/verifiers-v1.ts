/** Converts traces of verifiers v1 and prime-rl, which are graphs of messages. */
import { hash } from "node:crypto";
import { decidedChoice, toChatMessage, toLogprobs, toTools } from "../../conversation/apis/openai.ts";
import { literal, rawLiteral } from "../../json/output-json.ts";
import type { Members, Value } from "../../json/value.ts";
import { buildException, buildTrajectory, findReward, isUuid, noteVersion, skipUnscored } from "./build-trajectory.ts";
import type { Converter, Format, FormatRun, Group, Rollout, SourceRecord } from "./format.ts";

/** prime-rl 0.9.1 writes the traces of a run here. */
const streamFile = /(?:^|[/\\])stream[/\\]\d+\.jsonl(?:\.zst|\.gz)?$/;

export const verifiersV1: Format = {
  name: "verifiers-v1",
  title: "traces of verifiers v1 or prime-rl",
  keys: {
    group: "the rollouts with the same group.id or group_id, or with the same task if they have none",
    reward: "the sum of `rewards`, each with its weight",
    sampled: "the nodes with `sampled: true`",
  },
  records: { text: "lines" },
  filePattern: /(?:^|[./])traces\.jsonl$|\/traces\/stream\/\d+\.jsonl$/,
  // A rollout in `live` has not ended.
  companions:
    /(?:^|\/)(?:configs\/[^/]+\.json|monitors\/\w+\/\w+\.json|(?<=^|traces\/)(?:live|annotations)\/.+|(?:stream|annotations\/[^/]+)\.index\.jsonl|metrics\.jsonl|stream\/\d+\.jsonl\.zst\.tmp)$/,
  groupScope: () => "",
  recognizes: ({ value }) =>
    isTrace(value) ||
    (value.has("id") && value.get("traces")?.isList && value.hasAny("env", "task") && value.hasAny("errors", "ok")),
  open: (run) => openEpisodes(run),
};

/** Before verifiers 0.3.0 and prime-rl 0.9, a line is a trace without an episode. */
const isTrace = (value: Value) =>
  value.has("id") && value.get("task")?.isObject && value.get("nodes")?.isList && value.get("rewards")?.isObject;

/** A stream has the rollouts of training and of evaluation. */
const kindOf = (value: Value) =>
  readEither(value, value.get("traces", 0), "info.kind") ?? value.get("run", "work", "type");

/** Returns a function that is true for the rollouts of another split. */
const openSplitFilter = (run: FormatRun) => {
  const { kinds, options } = run;
  const { split } = options;
  return ({ value, file }: SourceRecord) => {
    const kind = kindOf(value)?.text;
    if (kind === undefined && streamFile.test(file))
      run.note("read rollouts without info.kind, which can be of another split");
    if (kind === undefined || kind === split) return false;
    const isNew = !kinds.has(kind);
    kinds.add(kind);
    if (split !== undefined) run.note(`left out a rollout of kind ${kind}, because the split is ${split}`);
    else if (isNew && kinds.size > 1)
      run.note(
        `read rollouts of the kinds ${[...kinds].join(" and ")} (check and log read only the kind that --split names)`,
      );
    return split !== undefined;
  };
};

type Episode = Readonly<{ own: Group; failedEpisode: Value | undefined }>;

const openEpisodes = (run: FormatRun): Converter => {
  const isOfOtherSplit = openSplitFilter(run);
  /** The first agent of each group key. Each other agent has a separate group. */
  const agents = new Map<string, string>();
  const rolloutsOf = (trace: Value, record: SourceRecord, { own, failedEpisode }: Episode): readonly Rollout[] => {
    if (trace.get("agent", "trainable")?.data === false) return run.skip("a trace of an agent that is not trainable");
    noteVersion(run, "a trace", trace.get("version"));
    const name = trace.get("agent", "name")?.text ?? "agent";
    const first = agents.get(own.key) ?? name;
    agents.set(own.key, first);
    const group = first === name ? own : { ...own, key: `${own.key} ${JSON.stringify(name)}` };
    record.group = group;
    const failed = isFailed(trace) ? trace : failedEpisode;
    const skipped = failed ? undefined : skipUnscored(run, findScores(trace)[0], record.isTruncated);
    if (skipped) return skipped;
    const result = failed ? { exception: buildFailure(failed) } : convertTrajectory(run, trace, record.value);
    const episode = record.value.textAt("id");
    const id = trace.textAt("id") ?? (episode === undefined ? undefined : `${episode} ${trace.span.start}`);
    return [{ group, id, part: trace, ...result }];
  };
  return {
    convert: (record) => {
      const { value } = record;
      if (isOfOtherSplit(record)) return undefined;
      if (isRepeated(run, record))
        return run.skip("a record of `all`, because `effective` has the rollouts that count");
      const own = findGroup(record);
      record.group = own;
      const traces = value.has("nodes") ? [value] : value.requireItems("traces");
      // prime-rl does not train on other traces of a failed episode, whose rewards may not be final.
      const failedEpisode = value.get("ok")?.data === false ? value : undefined;
      const rollouts = traces.flatMap((trace) => rolloutsOf(trace, record, { own, failedEpisode }));
      const hasFailedBefore = traces.length === 0 && value.has("errors", 0);
      const isLost = rollouts.length === 0 && (hasFailedBefore || isFailed(value));
      return isLost ? [{ id: value.get("id")?.raw, exception: buildFailure(value) }] : rollouts;
    },
  };
};

/** prime-rl writes the episodes of `effective` to `all`, too. */
const isRepeated = (run: FormatRun, { file }: SourceRecord) => {
  const effective = file.replace(/(?<=[/\\])all(?=[/\\][^/\\]+$)/, "effective");
  return effective !== file && run.files.includes(effective);
};

const convertTrajectory = (run: FormatRun, trace: Value, episode: Value) => {
  const ids = [trace.get("id"), episode.get("id")];
  const reward = findReward(run, { record: trace, ids, readOwn: () => readReward(trace) });
  const [turns = [], ...others] = findBranches(run, trace);
  const tools = toTools(run, trace.get("tools"));
  const policy = episode.get("run", "work", "policy");
  const start = policy?.get("start") ?? trace.get("policy_version") ?? trace.get("info", "policy_version");
  const metadata = [
    ...trace.flatMembers(),
    ...rename("info", trace.flatMembers("info")),
    ...(episode.has("nodes") ? [] : rename("episode", episode.flatMembers())),
    ...metadataPaths.split(/\s+/).map((path) => [path, readEither(episode, trace, path)] as const),
  ];
  return buildTrajectory({
    reward,
    turns,
    tools,
    histories: others.map((history) => ({ messages_and_choices: history, tools })),
    policy: { start, end: policy?.get("end") },
    metrics: [...trace.metricMembers("metrics"), ...rename("rewards", findScores(trace))],
    metadata: metadata.filter(([, value]) => value === undefined || value.id !== start?.id),
    startTime: readStart(trace),
    identity: ` ${policy?.raw ?? ""}`,
  });
};

const metadataPaths = `env.id env.name task.type task.key task.hash group.id run.type run.id run.name run.step
  run.work.type run.work.step agent.name agent.model agent.config.model`;

const rename = (prefix: string, members: Members): Members =>
  members.map(([key, value]) => [`${prefix}.${key}`, value] as const);

const readEither = (episode: Value, trace: Value | undefined, path: string) =>
  episode.get(...path.split(".")) ?? trace?.get(...path.split("."));

/** prime-rl writes the rollouts of a group to the files of several steps. */
const findGroup = ({ value, file }: SourceRecord): Group => {
  const [trace] = value.items("traces");
  const read = (paths: string) => {
    for (const path of paths.split(" ")) {
      const found = readEither(value, trace, path);
      if (found) return found;
    }
    return undefined;
  };
  const step = read("run.work.step run.step");
  // A resumed evaluation has several run ids in one file.
  const runId = step || value.has("run", "work") || read("run.type")?.text !== "eval" ? read("run.id") : undefined;
  const group = read("group.id group_id info.group_id");
  const run = runId?.raw ?? (isUuid(group?.text ?? "") ? "" : ` ${file}`);
  if (group) return { key: JSON.stringify([run, group.raw]), by: "group" };
  const task = read("task.key task.hash task.data");
  if (!task && (trace ?? value.get("nodes"))) throw value.error("the group and the task are missing");
  // An episode that failed before its first trace has no task in verifiers 0.3.0.
  const taskKey = task ? (task.isObject ? hash("sha256", task.raw) : task.raw) : `episode ${value.get("id")?.raw}`;
  const within = [read("run.work.type run.type"), step, read("env.id env_name info.env_name")].map(
    (part) => part?.raw ?? null,
  );
  return {
    key: JSON.stringify([runId?.raw ?? ` ${file}`, ...within, taskKey]),
    by: "step, environment and task",
    isDerived: true,
  };
};

const isFailed = (holder: Value) => {
  const ok = holder.get("ok")?.data;
  return ok === undefined ? holder.has("errors", 0) : ok === false;
};

const buildFailure = (holder: Value) => {
  const errors = holder.items("errors");
  return errors.at(-1) ?? buildException(holder.get("stop_condition") ?? "no error is recorded");
};

/** A null reward means that scoring did not run. Before verifiers 0.3.0, a reward is a score with its weight. */
const findScores = (trace: Value): Members =>
  trace.members("rewards").flatMap(([name, reward]) => {
    if (reward.isNull) return [];
    return [[name, reward.isNumber ? reward : reward.require("score")] as const];
  });

const readReward = (trace: Value) => {
  const scored = findScores(trace).map(([name, score]) => {
    const weight = trace.get("rewards", name, "weight");
    const value = (score.number ?? Number.NaN) * (weight ? (weight.number ?? Number.NaN) : 1);
    if (!Number.isFinite(value)) throw score.error(`the score or the weight of ${name} is not a number`);
    return { score, weight, value };
  });
  const [first, ...more] = scored;
  if (!first) return undefined;
  const sources = scored.flatMap(({ score, weight }) => [score, weight]);
  // A single score with the weight 1 keeps all digits.
  if (more.length === 0 && (first.weight?.number ?? 1) === 1) return rawLiteral(first.score.raw, sources);
  const sum = scored.reduce((total, { value }) => total + value, 0);
  return literal(sum, ...sources);
};

/** Converts Unix seconds to a time with all digits of the fraction. */
const readStart = (trace: Value) => {
  const start = trace.get("timing", "start");
  const [, seconds, fraction = ""] = /^(\d{1,11})(?:\.(\d{1,9}))?$/.exec(start?.raw ?? "") ?? [];
  if (seconds === undefined || Number(seconds) === 0) return undefined;
  const time = new Date(Number(seconds) * 1000).toISOString().slice(0, "2025-01-01T00:00:00".length);
  return literal(`${time}${Number(fraction) === 0 ? "" : `.${fraction}`}Z`, start);
};

/** Returns the turns to each leaf, with the last leaf first. Each sampled node becomes one choice. */
const findBranches = (run: FormatRun, trace: Value) => {
  const nodes = trace.require("nodes").items();
  const parents = nodes.map(findParent);
  const innerNodes = new Set(parents);
  const leaves = [...nodes.keys()].filter((at) => !innerNodes.has(at));
  const calls = new Map(trace.items("calls").map((call) => [call.get("node")?.number, call]));
  const seen = new Set<number>();
  const linksOf = (node: Value, type: string) =>
    node.items("semantic_parents").filter((link) => link.textAt("type") === type);
  const resumed = new Set(nodes.flatMap((node) => linksOf(node, "compaction").map((link) => link.get("node")?.number)));
  const turn = (at: number) => {
    const node = nodes[at] ?? trace;
    const message = node.require("message");
    const isUnused = linksOf(node, "compaction_attempt").length > 0 && !resumed.has(at);
    if (isUnused) run.note("converted a compaction that the rollout did not continue to a message, as prime-rl does");
    const isSampled = node.get("sampled")?.isTrue === true && !seen.has(at) && !isUnused;
    const chatMessage = toChatMessage(message, isSampled);
    if (!isSampled) return chatMessage;
    seen.add(at);
    const stated = [calls.get(at)?.get("finish_reason"), node.get("finish_reason")];
    return decidedChoice(run, chatMessage, stated, sampledLogprobs(run, node));
  };
  return [...leaves.slice(-1), ...leaves.slice(0, -1)].map((leaf) => {
    const path: number[] = [];
    for (let at: number | undefined = leaf; at !== undefined; at = parents[at]) path.push(at);
    return path.reverse().map(turn);
  });
};

const findParent = (node: Value, at: number) => {
  const parent = node.get("parent");
  if (!parent) return undefined;
  const { number = -1 } = parent;
  if (Number.isInteger(number) && number >= 0 && number < at) return number;
  throw parent.error(`the parent of node ${at} is not an earlier node`);
};

const sampledLogprobs = (run: FormatRun, node: Value) => {
  const logprobs = node.get("logprobs");
  if (!logprobs?.has(0)) return undefined;
  const [ids, mask] = [node.items("token_ids"), node.items("mask")];
  if (ids.length === 0) {
    run.skip("logprobs without token ids");
    return undefined;
  }
  return toLogprobs(logprobs, mask.length === 0 ? ids : ids.filter((_, at) => mask[at]?.isTrue));
};
