/** Logs trajectories (interface 4.1). */
import { createHash } from "node:crypto";
import { openBrace, openBracket, quote } from "../json/json-bytes.ts";
import { composeMembers, composeObject } from "../json/raw-json.ts";
import * as json from "../json/table.ts";
import { listTypeFaults, readRewardAndMetrics } from "../rollouts/check/trajectory.ts";
import { TrajectoryFacts } from "../rollouts/index/fact-columns.ts";
import { Tally } from "../rollouts/index/metrics.ts";
import { Breaks } from "../system/breaks.ts";
import { logTrajectories } from "../wire/contract/endpoint.ts";
import type { ValidationItem } from "../wire/contract/validation-error.ts";
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
    const request = { ...summary, model, project, loggedAt: now(), bytes, idempotency };
    const { digest = new Uint8Array(), metrics, callIds } = await store.saveRequest(request);
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
  const required = { split: "a string", trajectory_groups: "an array" } as const;
  const request = readMembers(root, { loc: ["body"], required, faults });
  const [split, groups] = [request.get("split"), request.get("trajectory_groups")];
  const breaks = new Breaks();
  const facts = new TrajectoryFacts();
  for (const [group, value] of listElements(groups)) {
    if (faults.length >= operation.maxFaults) break;
    const loc = ["body", "trajectory_groups", group];
    const members = readMembers(value, { loc, required: { trajectories: "an array" }, faults });
    const trajectories = members.get("trajectories");
    const rewards: number[] = [];
    for (const [at, trajectory] of listElements(trajectories)) {
      if (faults.length >= operation.maxFaults) break;
      for (const { path, wanted } of listTypeFaults(trajectory, operation.maxFaults)) {
        const given = json.findAt(trajectory, wanted === undefined ? path.slice(0, -1) : path);
        faults.push(operation.typeItem([...loc, "trajectories", at, ...path], wanted, given));
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

/** Yields elements without a list of all. The first numbers are enough, because each is a fault. */
function* listElements(array: json.JsonValue | undefined): Generator<readonly [number, json.JsonValue], void> {
  for (const [index, value] of array && isArray(array) ? json.childrenOf(array, operation.maxFaults) : [])
    yield [Number(index), value];
}

const isArray = (value: json.JsonValue | undefined) => value !== undefined && json.firstByteOf(value) === openBracket;

const firstBytes = { "a string": quote, "an array": openBracket };

type Required = Readonly<Record<string, keyof typeof firstBytes>>;

/** Reads the members of an object. Adds a fault for another value, and for each required key that has a fault. */
const readMembers = (
  object: json.JsonValue,
  { loc, required, faults }: { loc: operation.Loc; required: Required; faults: ValidationItem[] },
) => {
  const members = new Map<string, json.JsonValue>();
  const isObject = json.firstByteOf(object) === openBrace;
  if (!isObject) faults.push(operation.typeItem(loc, "an object", object));
  for (const [key, value] of isObject ? json.childrenOf(object) : []) {
    const name = String(key);
    if (Object.hasOwn(required, name) && members.has(name) && faults.length < operation.maxFaults) {
      faults.push({ loc: [...loc, name], msg: "Key should occur once", type: "duplicate_key", input: null });
    }
    members.set(name, value);
    checkNameCount(members.size);
  }
  for (const [name, wanted] of isObject ? Object.entries(required) : []) {
    const value = members.get(name);
    if (value && json.firstByteOf(value) === firstBytes[wanted]) continue;
    faults.push(operation.typeItem([...loc, name], value && wanted, value ?? object));
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
