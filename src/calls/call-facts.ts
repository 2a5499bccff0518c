/** Reads the facts of a traced call (interface 2.4). */

import * as raw from "../json/raw-json.ts";
import { addDecimals, type Decimal, parseDecimal, zero } from "../text/decimal.ts";
import { isShortText } from "../text/sentences.ts";
import { isDateTime } from "../text/units.ts";
import * as usages from "./usage.ts";

export type CallState = "ok" | "failed" | "running" | "deleted" | "unknown";

/** `total` is undefined for the `reason`. `known` is the sum of the stated parts. */
export type CallCost = Readonly<{
  model: string;
  unit: string;
  total: Decimal | undefined;
  known: Decimal;
  reason: string | undefined;
}>;

/** Assumed: `op_name` is a name, or `<scheme>:///team/project/op/name:digest`. */
export const findOperation = (call: raw.RawJson) => {
  const operation = raw.textAt(call, "op_name") || undefined;
  return /^[a-z][a-z\d+.-]*:\/\/.*\/op\/([^/]+?)(?::[^:/]*)?$/i.exec(operation ?? "")?.[1] ?? operation;
};

export const readStatus = (call: raw.RawJson, prefix?: string) => raw.textAt(findInSummary(call, prefix, "status"));

/** Statuses of a call or response with an answer. `incomplete` is an answer that was cut. */
export const endStatuses: ReadonlySet<string> = new Set(
  ["success", "succeeded", "ok", "completed", "complete", "done", "finished"].concat("descendant_error", "incomplete"),
);

const failedStatus =
  /^(?:error(?:ed)?|fail(?:ed|ure)?|time_?out|timed_out|cancell?ed|abort(?:ed)?|exception|killed|crashed|rejected|expired)$/;

/** Assumed: a running call has the status `running`. */
export const findState = (call: raw.RawJson, prefix?: string): CallState => {
  const status = readStatus(call, prefix);
  if (hasValue(call, "deleted_at")) return "deleted";
  if (status === "error" || hasValue(call, "exception")) return "failed";
  if (status === "running" || !hasValue(call, "ended_at")) return "running";
  const name = status?.toLowerCase() || "success";
  return endStatuses.has(name) ? "ok" : failedStatus.test(name) ? "failed" : "unknown";
};

/** Also true if `omitContent` removed the value. */
const hasValue = (call: raw.RawJson, field: string) => {
  const value = raw.findValue(call, field) ?? raw.findValue(call, omittedKey, field);
  return value !== undefined && !isEmpty(value);
};

const isEmpty = (value: raw.RawJson) => raw.isAbsent(value) || value.json === '""';

export const findDurationMicros = (call: raw.RawJson) => {
  const started = parseMicros(raw.textAt(call, "started_at"));
  const ended = parseMicros(raw.textAt(call, "ended_at"));
  return started === undefined || ended === undefined ? undefined : ended - started;
};

/** Microseconds since 1970. Assumed: a time without an offset is UTC. */
const parseMicros = (text: string | undefined) => {
  const match = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:\.(\d+))?\s*(Z|[+-]\d\d:?\d\d)?$/i.exec(text ?? "");
  if (match === null) return undefined;
  const [, day = "", time = "", fraction = "", zone = "Z"] = match;
  const whole = Date.parse(`${day}T${time}${zone.toUpperCase()}`);
  if (!isDateTime(`${day}T00:00`)) return undefined;
  return Number.isNaN(whole) ? undefined : whole * 1000 + Number(fraction.padEnd(6, "0").slice(0, 6));
};

export const findModels = (call: raw.RawJson, prefix: string) => {
  const used = [raw.findValue(call, "summary", "usage"), findInSummary(call, prefix, "costs")].flatMap(raw.membersOf);
  return used.length > 0
    ? [...new Set(used.map(({ key }) => key))]
    : [usages.findNamedModel(call) ?? ""].filter(Boolean);
};

/** If one model has a cost, the cost of another model that used tokens is unknown, not absent. */
export const readCosts = (call: raw.RawJson, prefix: string): readonly CallCost[] => {
  const read = usages.readUsages(call);
  const only = read.length === 1 ? read[0] : undefined;
  const usageOf = new Map(read.map((usage) => [usage.model, usage]));
  const statedOf = new Map(raw.membersOf(findInSummary(call, prefix, "costs")).map(({ key, value }) => [key, value]));
  const used = only ? [] : raw.membersOf(raw.findValue(call, "summary", "usage")).map(({ key }) => key);
  const costs = Array.from(new Set([...statedOf.keys(), ...used]), (model) => {
    return { model, cost: readCost(model, statedOf.get(model), usageOf.get(model) ?? only) };
  });
  if (!costs.some(({ cost }) => cost)) return [];
  const isUnused = (usage: usages.CallUsage | undefined) =>
    usage?.prompt === 0n && usages.countCompletion(usage) === 0n;
  const reason = "the service did not state its cost";
  return costs.flatMap(
    ({ model, cost }) =>
      cost ?? (isUnused(usageOf.get(model)) ? [] : { model, unit: "USD", total: undefined, known: zero, reason }),
  );
};

/** Assumed: `…_tokens_total_cost` is in US dollars, unless a `…_cost_unit` names another currency. */
const readCost = (model: string, stated: raw.RawJson | undefined, usage: usages.CallUsage | undefined) => {
  const members = raw.withoutAbsent(raw.membersOf(stated));
  const costs = members.filter(({ key }) => neededCosts.includes(key));
  const amounts = new Map(costs.map(({ key, value: { text } }) => [key, parseDecimal(text)]));
  const { others, statedCost } = usages.readUsage(raw.toRawObject(members.filter(({ key }) => !costMember.test(key))));
  if (amounts.size === 0 && others.length === 0 && !statedCost) return undefined;
  const valid = [...amounts.values()].flatMap((amount) => (amount && amount.digits >= 0n ? [amount] : []));
  const sum = valid.reduce(addDecimals, zero);
  const unused = listUnusedCosts(usage);
  const unstated = neededCosts.find((key) => !amounts.has(key) && !unused.includes(key));
  const texts = members.flatMap(({ key, value }) => (key.endsWith("_cost_unit") ? value.text.toUpperCase() : []));
  const [unit = "USD", ...otherUnits] = new Set(texts.filter(Boolean));
  // Parts can cost less or more than they say.
  const unclear =
    (others.length > 0 ? `its costs have ${usages.nameOthers(others)}, which rollcall does not know` : undefined) ??
    (otherUnits.length > 0 ? "its costs are in several currencies" : undefined) ??
    (/^[A-Z]{3}$/.test(unit) ? undefined : "its costs are in an unknown currency");
  const totals = [statedCost, unit === "USD" ? usage?.stated : undefined];
  const otherTotal = totals.find((total) => total && !usages.isSameCost(total, sum));
  const reasons = [
    valid.length < amounts.size ? "an amount is invalid" : undefined,
    unclear,
    unstated && `the service did not state ${unstated}`,
    usage?.doubt,
    usage?.unpriced,
    otherTotal && usages.otherCostStated(otherTotal),
  ];
  const reason = reasons.find(Boolean);
  const total = reason === undefined ? sum : undefined;
  return { model, unit: unclear ? "USD" : unit, total, known: unclear ? zero : sum, reason };
};

const neededCosts = ["prompt", "completion", "cache_read_input", "cache_creation_input"].map(
  (kind) => `${kind}_tokens_total_cost`,
);

/** Matches costs, prices and the origin of prices. */
const costMember =
  /^(?:(?:prompt|completion|cache_(?:read|creation)_input)_token(?:s_total)?_cost|.*_cost_unit|effective_date|created_(?:at|by)|provider_id|pricing_level(?:_id)?)$/;

/** Lists the costs of tokens that the call did not use. A call can lack counts of cached tokens. */
const listUnusedCosts = (usage: usages.CallUsage | undefined) => {
  const counts = [usage?.prompt, usage && usages.countCompletion(usage), usage?.cached ?? 0n, usage?.written ?? 0n];
  return neededCosts.filter((_, at) => counts[at] === 0n);
};

export const readDollars = ({ unit, total }: CallCost) => (unit === "USD" ? total : undefined);

/** Assumed: `key` is in `summary`, or in an object inside it. Without the prefix, the first counts. */
const findInSummary = (call: raw.RawJson, prefix: string | undefined, key: "costs" | "status") => {
  const summary = raw.findValue(call, "summary");
  const elsewhere = raw.membersOf(summary).map(({ value }) => raw.findValue(value, key));
  const own = prefix === undefined ? undefined : raw.findValue(summary, prefix, key);
  return own ?? raw.findValue(summary, key) ?? elsewhere.find((value) => value !== undefined);
};

/** The fields of a call in the order of interface 2.4. */
export const callFields: readonly string[] = `id project_id op_name trace_id started_at attributes inputs display_name
  parent_id thread_id turn_id ended_at exception output summary vendor_user_id vendor_username vendor_run_id
  vendor_run_step vendor_run_step_end deleted_at storage_size_bytes total_storage_size_bytes`.split(/\s+/);

export const withPrefix = (field: string, prefix: string) => field.replace(/^vendor_/, `${prefix}_`);

export const listFieldNames = (prefix: string) => callFields.flatMap((field) => [field, withPrefix(field, prefix)]);

const contentFields: ReadonlySet<string> = new Set(["inputs", "output", "exception", "attributes", "display_name"]);
const omittedKey = "omitted_bytes";

/** Removes the content of a call, such as messages. `omitted_bytes` counts the removed bytes by field. */
export const omitContent = (call: raw.RawJson, prefix: string) => {
  const kept: [key: string, json: string][] = [];
  const omitted = new Map<string, number>();
  const known = new Set(listFieldNames(prefix));
  for (const { key, value } of call.members) {
    const isName = known.has(key) && key !== "summary";
    const isContent = contentFields.has(key) && !isEmpty(value);
    const json = isContent || !isShortText(key) ? undefined : omitTexts(key, value, isName);
    if (json !== undefined) kept.push([key, json]);
    const omittedBytes = Buffer.byteLength(value.json) - Buffer.byteLength(json ?? "");
    if (omittedBytes > 0) omitted.set(isShortText(key) ? key : "other", omittedBytes);
  }
  if (omitted.size > 0) kept.push([omittedKey, JSON.stringify(Object.fromEntries(omitted))]);
  return raw.parseRawJson(raw.composeMembers(kept));
};

const omitTexts = (key: string, value: raw.RawJson, isName = false, levels = 16): string | undefined => {
  const { kind, json } = value;
  if (kind === "text")
    return json === '""' || (isName ? isShortText(value.text) : isFact(key, json)) ? json : undefined;
  if (kind !== "object" && kind !== "list") return json;
  if (isName || levels === 0) return undefined;
  if (kind === "list") {
    const items = value.items.map((item) => omitTexts("", item, false, levels - 1));
    return items.includes(undefined) ? undefined : `[${items.join(",")}]`;
  }
  const kept = value.members.map(({ key: name, value: member }) => {
    return [name, isShortText(name) ? omitTexts(name, member, false, levels - 1) : undefined] as const;
  });
  return kept.length > 0 && kept.every(([, member]) => member === undefined) ? undefined : raw.composeMembers(kept);
};

const isFact = (key: string, json: string) =>
  /^"[+-]?\d[\d.]{0,40}([eE][+-]?\d{1,3})?"$/.test(json) ||
  (key === "status" && /^"[a-z_]{1,32}"$/i.test(json)) ||
  (key.endsWith("_unit") && /^"[A-Z]{3}"$/.test(json));
