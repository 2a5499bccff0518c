/** What of a traced call decides: its name, how it ended, how long it took, its models, tokens and costs (interface 2.4). */
import { addDecimals, type Decimal, formatDecimal, parseDecimal, zero } from "../decimal.ts";
import { readSpelled } from "../json/read-spelled.ts";
import { inline, membersOf, numberFrom, type Spelled, type SpelledMember, textFrom, valueAt } from "../json/spelled.ts";
import { members, openBrace, type Span, skipWhite, textOf } from "../json/walk.ts";

/** What of the fields that can be long is read. */
const partly: Readonly<Record<string, readonly string[]>> = {
  inputs: ["model"],
  output: ["model", "usage"],
  attributes: [],
};

/** A call without its contents: enough for its name, state, duration, models, tokens and costs. `bytes` is one JSON object. */
export const readHead = (bytes: Uint8Array): Spelled => ({
  kind: "object",
  members: Array.from(members(bytes, skipWhite(bytes, 0)), ({ key, value }) => headMember(bytes, key, value)),
});

const headMember = (bytes: Uint8Array, key: string, span: Span): SpelledMember => {
  const kept = Object.hasOwn(partly, key) ? partly[key] : undefined;
  if (kept === undefined || bytes[span.start] !== openBrace) return { key, value: readSpelled(textOf(bytes, span)) };
  const inner = Array.from(members(bytes, span.start)).filter((one) => kept.includes(one.key));
  return {
    key,
    value: {
      kind: "object",
      members: inner.map((one) => ({ key: one.key, value: readSpelled(textOf(bytes, one.value)) })),
    },
  };
};

/** How a call stands. */
export type CallState = "ok" | "failed" | "running" | "deleted";

/** Tokens that one model took, as they were spelled. */
export interface Usage {
  /** Undefined where the call names none. */
  readonly model: string | undefined;
  readonly prompt: string | undefined;
  readonly completion: string | undefined;
  readonly total: string | undefined;
}

/** What one model cost. */
export interface Cost {
  readonly model: string;
  /** The amounts by what they are for, such as `prompt`, as they were spelled. */
  readonly parts: readonly { readonly what: string; readonly amount: string }[];
  /** `USD` where nothing else is said. */
  readonly unit: string;
  /** The exact sum of the parts; undefined where one of them is no amount of money. */
  readonly total: Decimal | undefined;
}

/** The name people know a call by: its own, else the one in its operation's reference. */
export const nameOf = (call: Spelled): string | undefined => {
  const own = textFrom(call, "display_name");
  return own !== undefined && own !== "" ? own : operationOf(call);
};

/** The operation's name, out of its reference. Assumed: a reference is `<scheme>:///team/project/op/name:digest`. */
export const operationOf = (call: Spelled): string | undefined => {
  const operation = textFrom(call, "op_name");
  if (operation === undefined || operation === "") return undefined;
  return /^[a-z][a-z\d+.-]*:\/\/.*\/op\/([^/]+?)(?::[^:/]*)?$/i.exec(operation)?.[1] ?? operation;
};

/** The status word of the summary. Assumed: it is `summary.<prefix>.status`. */
export const saidStatus = (call: Spelled, prefix: string): string | undefined =>
  textFrom(inSummary(call, prefix, "status"));

/** Deleted, failed, running or ok, in this order. Assumed: `success`, `error` and `running` are the words of a status. */
export const stateOf = (call: Spelled, prefix: string): CallState => {
  const said = saidStatus(call, prefix);
  if (valueAt(call, "deleted_at") !== undefined) return "deleted";
  if (said === "error" || hasException(call)) return "failed";
  return said === "running" || valueAt(call, "ended_at") === undefined ? "running" : "ok";
};

const hasException = (call: Spelled): boolean => {
  const exception = valueAt(call, "exception");
  return exception !== undefined && inline(exception) !== "";
};

/** Whether a call may still change: it has no end, and nothing says that there will be none. */
export const isGoingOn = (call: Spelled): boolean =>
  valueAt(call, "ended_at") === undefined && valueAt(call, "deleted_at") === undefined && !hasException(call);

/** Microseconds from start to end; undefined where it can't be known, negative where it ended before it started. */
export const microsecondsOf = (call: Spelled): number | undefined => {
  const started = microseconds(textFrom(call, "started_at"));
  const ended = microseconds(textFrom(call, "ended_at"));
  return started === undefined || ended === undefined ? undefined : ended - started;
};

/** Microseconds since 1970. Assumed: a time without a zone is UTC. */
const microseconds = (text: string | undefined): number | undefined => {
  const match = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:\.(\d+))?\s*(Z|[+-]\d\d:?\d\d)?$/i.exec(text ?? "");
  if (match === null) return undefined;
  const [, day = "", time = "", fraction = "", zone = "Z"] = match;
  const whole = Date.parse(`${day}T${time}${zone.toUpperCase()}`);
  return Number.isNaN(whole) ? undefined : whole * 1000 + Number(fraction.padEnd(6, "0").slice(0, 6));
};

/** The models a call used: those of its usage and costs, else the one that its output or its inputs name. */
export const modelsOf = (call: Spelled, prefix: string): readonly string[] => {
  const used = [valueAt(call, "summary", "usage"), inSummary(call, prefix, "costs")].flatMap((value) =>
    membersOf(value).map(({ key }) => key),
  );
  if (used.length > 0) return [...new Set(used)];
  const named = textFrom(call, "output", "model") ?? textFrom(call, "inputs", "model");
  return named === undefined || named === "" ? [] : [named];
};

/** Tokens by model. Assumed: `summary.usage[model]`, else `output.usage`, in either of two spellings. */
export const usagesOf = (call: Spelled): readonly Usage[] => {
  const models = membersOf(valueAt(call, "summary", "usage")).flatMap(({ key, value }) => usageOf(value, key));
  if (models.length > 0) return models;
  const model = textFrom(call, "output", "model") ?? textFrom(call, "inputs", "model");
  return usageOf(valueAt(call, "output", "usage"), model);
};

/** What a usage says of tokens; empty where it says nothing. */
export const usageOf = (value: Spelled | undefined, model: string | undefined): readonly Usage[] => {
  const usage = {
    model,
    prompt: numberFrom(value, "prompt_tokens") ?? numberFrom(value, "input_tokens"),
    completion: numberFrom(value, "completion_tokens") ?? numberFrom(value, "output_tokens"),
    total: numberFrom(value, "total_tokens"),
  };
  return [usage.prompt, usage.completion, usage.total].every((one) => one === undefined) ? [] : [usage];
};

/**
 * Costs by model; empty where the service gave none. Assumed: `<what>_tokens_total_cost` are amounts, of which
 * `prompt` and `completion` are known, in USD unless a `…_cost_unit` beside them says otherwise.
 */
export const costsOf = (call: Spelled, prefix: string): readonly Cost[] =>
  membersOf(inSummary(call, prefix, "costs")).flatMap(({ key, value }) => {
    const parts = partsOf(value);
    if (parts.length === 0) return [];
    const units = membersOf(value).flatMap((one) =>
      one.key.endsWith("_cost_unit") && one.value.kind === "text" ? [one.value.text] : [],
    );
    const unit = units.find((text) => text.toUpperCase() !== "USD") ?? "USD";
    return [{ model: key, parts, unit, total: sumOf(parts.map(({ amount }) => amount)) }];
  });

/** What a usage, or what else counts, says that it cost in all; undefined where it says nothing. Assumed: `cost` or `total_cost`. */
export const costIn = (value: Spelled | undefined): Decimal | undefined => {
  const said = numberFrom(value, "cost") ?? numberFrom(value, "total_cost");
  if (said !== undefined) return sumOf([said]);
  const parts = value === undefined ? [] : partsOf(value);
  return parts.length === 0 ? undefined : sumOf(parts.map(({ amount }) => amount));
};

const costSuffix = "_tokens_total_cost";
const order = ["prompt", "completion"];

const partsOf = (value: Spelled): Cost["parts"] => {
  const found = new Map<string, string>();
  for (const { key } of membersOf(value)) {
    // Also where an amount is spelled as a text.
    const amount = key.endsWith(costSuffix) ? (numberFrom(value, key) ?? textFrom(value, key)) : undefined;
    if (amount !== undefined) found.set(key.slice(0, -costSuffix.length).replaceAll("_", " "), amount);
  }
  const names = [
    ...order.filter((name) => found.has(name)),
    ...[...found.keys()].filter((name) => !order.includes(name)),
  ];
  return names.map((what) => ({ what, amount: found.get(what) ?? "" }));
};

const sumOf = (amounts: readonly string[]): Decimal | undefined => {
  let sum = zero;
  for (const amount of amounts) {
    const decimal = parseDecimal(amount);
    if (decimal === undefined || decimal.digits < 0n) return undefined;
    sum = addDecimals(sum, decimal);
  }
  return sum;
};

/** The exact sum of what several models cost, in USD; undefined where one of them can't be added. */
export const totalCost = (costs: readonly Cost[]): string | undefined => {
  let sum = zero;
  for (const { total, unit } of costs) {
    if (total === undefined || unit !== "USD") return undefined;
    sum = addDecimals(sum, total);
  }
  return formatDecimal(sum);
};

/**
 * What the summary holds under the deployment's own word, or else at its top or anywhere one level down.
 * Assumed: no model is called `costs` or `status`.
 */
const inSummary = (call: Spelled, prefix: string, key: "costs" | "status"): Spelled | undefined => {
  const summary = valueAt(call, "summary");
  const elsewhere = membersOf(summary).map(({ value }) => valueAt(value, key));
  return valueAt(summary, prefix, key) ?? valueAt(summary, key) ?? elsewhere.find((value) => value !== undefined);
};
