/** Logs trajectories (interface 4.1). */
import { createHash } from "node:crypto";
import { openBrace, openBracket } from "../json/json-bytes.ts";
import { composeMembers, composeObject } from "../json/raw-json.ts";
import * as json from "../json/table.ts";
import { isTrajectory, readRewardAndMetrics } from "../rollouts/check/trajectory.ts";
import { Tally } from "../rollouts/index/metrics.ts";
import { TrajectoryFacts } from "../rollouts/index/trajectory-facts.ts";
import { Breaks } from "../system/breaks.ts";
import { logTrajectories } from "../wire/contract/log.ts";
import type { ValidationItem } from "../wire/contract/log-schemas.ts";
import { LogRequest, maxFaults, Trajectory, TrajectoryGroup } from "../wire/contract/log-schemas.ts";
import * as operation from "./operation.ts";
import type { TrajectorySpan } from "./store/call-ids.ts";
import type { Store } from "./store/store.ts";

const maxKeyLength = 255;

export const logOperation = (store: Store, project: string, now: () => number): operation.Operation => ({
  endpoint: logTrajectories,
  errorFormat: operation.detailError,
  answer: async ({ parameters, body: bytes = new Uint8Array(), idempotencyKey: key }) => {
    const { model_id: model = "" } = parameters;
    const summary = await readLogRequest(bytes);
    if (key !== undefined && key.length > maxKeyLength) {
      throw invalidKey(key, { msg: `String should have at most ${maxKeyLength} characters`, type: "string_too_long" });
    }
    const hash = createHash("sha256");
    const idempotency =
      key === undefined ? undefined : { key, digest: hash.update(`${model}\0`).update(bytes).digest() };
    const earlier = idempotency && (await store.findByKey(project, idempotency.key));
    const request = { ...summary, model, project, loggedAt: now(), bytes, idempotency };
    // After `findByKey`, another client can save a request with this key.
    const { digest = new Uint8Array(), metrics, callIds } = earlier ?? (await store.saveRequest(request));
    if (idempotency && Buffer.compare(digest, idempotency.digest) !== 0) {
      const msg = "Idempotency-Key was used with another model or body";
      throw invalidKey(idempotency.key, { msg, type: "idempotency_key_reused" });
    }
    return composeObject({ metrics, call_ids: callIds });
  },
});

const invalidKey = (input: string, fault: { msg: string; type: string }) =>
  operation.invalidRequest([{ loc: ["header", "Idempotency-Key"], ...fault, input }]);

const maxNames = 10_000;

const leafKeys = ["messages_and_choices", "additional_histories", "metadata", "logs", "parameters"];
const reader = json.openRootReader(leafKeys, operation.maxReadValues);

/** @throws HttpRefusal 400, 413, 422 */
const readLogRequest = async (bytes: Uint8Array) => {
  const root = operation.readBody(bytes, reader);
  const tally = new Tally();
  const spans: TrajectorySpan[] = [];
  const otherGroupKeys = new Map<number, string>();
  const faults: ValidationItem[] = [];
  const request = readMembers(root, { loc: ["body"], uniqueKeys: ["split", "trajectory_groups"], faults });
  const [split, groups] = [request.get("split"), request.get("trajectory_groups")];
  const found = isArray(groups)
    ? operation.findFaults(LogRequest.shape.split, split && operation.parseBounded(split), ["body", "split"])
    : operation.findFaults(LogRequest, summarize(root), ["body"]);
  faults.push(...found);
  const breaks = new Breaks();
  const facts = new TrajectoryFacts();
  for (const [group, value] of listElements(groups)) {
    if (faults.length >= maxFaults) break;
    const loc = ["body", "trajectory_groups", group];
    const members = readMembers(value, { loc, uniqueKeys: ["trajectories"], faults });
    const trajectories = members.get("trajectories");
    if (!isArray(trajectories)) faults.push(...operation.findFaults(TrajectoryGroup, summarize(value), loc));
    const rewards: number[] = [];
    for (const [at, trajectory] of listElements(trajectories)) {
      if (faults.length >= maxFaults) break;
      if (!isTrajectory(trajectory)) {
        faults.push(
          ...operation.findFaults(Trajectory, operation.parseBounded(trajectory), [...loc, "trajectories", at]),
        );
      }
      if (faults.length === 0) rewards.push(addTrajectory(tally, trajectory, facts));
      const { start, end } = json.spanOf(trajectory);
      spans.push({ group, start, end });
      if (breaks.isDue(end - start)) await breaks.take();
    }
    tally.addGroup({ rewards, exceptions: json.elementsOf(members.get("exceptions")).length });
    members.delete("trajectories");
    if (members.size > 0) otherGroupKeys.set(group, formatMembers(members));
    if (breaks.isDue()) await breaks.take();
  }
  if (!split || faults.length > 0) throw operation.invalidRequest(faults);
  request.delete("split");
  request.delete("trajectory_groups");
  const name = String(json.parseValue(split));
  const metrics = JSON.stringify(tally.metrics(name));
  return { split: name, metrics, otherKeys: formatMembers(request), otherGroupKeys, spans };
};

const maxSummarizedBytes = 2 ** 20;

/** Replaces large members by empty values, because only their types matter. */
const summarize = (value: json.JsonValue) => {
  const isSmall = (one: json.JsonValue) => json.spanOf(one).end - json.spanOf(one).start <= maxSummarizedBytes;
  if (isSmall(value)) return operation.parseBounded(value);
  operation.requireBounded(value);
  if (json.firstByteOf(value) !== openBrace) return [];
  const summary = new Map<string, unknown>();
  for (const [key, member] of json.childrenOf(value))
    summary.set(String(key), isSmall(member) ? operation.parseBounded(member) : isArray(member) ? [] : {});
  return Object.fromEntries(summary);
};

/** Yields elements without a list of all. The first numbers are enough, because each is a fault. */
function* listElements(array: json.JsonValue | undefined): Generator<readonly [number, json.JsonValue], void> {
  for (const [index, value] of array && isArray(array) ? json.childrenOf(array, maxFaults) : [])
    yield [Number(index), value];
}

const isArray = (value: json.JsonValue | undefined) => value !== undefined && json.firstByteOf(value) === openBracket;

const readMembers = (
  object: json.JsonValue,
  { loc, uniqueKeys, faults }: { loc: operation.Loc; uniqueKeys: readonly string[]; faults: ValidationItem[] },
) => {
  const members = new Map<string, json.JsonValue>();
  for (const [key, value] of json.firstByteOf(object) === openBrace ? json.childrenOf(object) : []) {
    const name = String(key);
    if (uniqueKeys.includes(name) && members.has(name) && faults.length < maxFaults) {
      faults.push({ loc: [...loc, name], msg: "Key should occur once", type: "duplicate_key", input: null });
    }
    members.set(name, value);
    checkNameCount(members.size);
  }
  return members;
};

const formatMembers = (members: ReadonlyMap<string, json.JsonValue>) =>
  composeMembers(Array.from(members, ([key, value]) => [key, json.textOf(value)]));

const addTrajectory = (tally: Tally, { table, node }: json.JsonValue, facts: TrajectoryFacts) => {
  readRewardAndMetrics(table, node, facts);
  checkNameCount(facts.metricNames.length);
  tally.addTrajectory(facts);
  checkNameCount(tally.byName.size);
  return facts.reward;
};

const checkNameCount = (count: number) => {
  const limits = `more than ${maxNames} metrics, or more than ${maxNames} keys in one object`;
  if (count > maxNames) throw new operation.HttpRefusal(413, `the body has ${limits}`);
};
