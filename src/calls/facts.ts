/** The facts of a traced call: its name, how it ended, how long it took, its models, tokens and costs (interface 2.4). */
import { addDecimals, type Decimal, formatDecimal, parseDecimal, zero } from "../decimal.ts";
import { membersText, objectText } from "../json/compose.ts";
import {
  inline,
  isNothing,
  membersOf,
  numberFrom,
  readSpelled,
  type Spelled,
  textFrom,
  valueAt,
} from "../json/spelled.ts";

export type CallState = "ok" | "failed" | "running" | "deleted";

/** Tokens that one model took, as they were spelled. */
export interface Usage {
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
  readonly unit: string;
  /** The exact sum of the parts; undefined if one of them is not an amount of money. */
  readonly total: Decimal | undefined;
}

/** The name people know a call by: its own, else that of its operation. */
export const nameOf = (call: Spelled): string | undefined => textFrom(call, "display_name") || operationOf(call);

/** The operation's name. Assumed: its reference is `<scheme>:///team/project/op/name:digest`. */
export const operationOf = (call: Spelled): string | undefined => {
  const operation = textFrom(call, "op_name") || undefined;
  return /^[a-z][a-z\d+.-]*:\/\/.*\/op\/([^/]+?)(?::[^:/]*)?$/i.exec(operation ?? "")?.[1] ?? operation;
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

/** True if a call may still change. */
export const isGoingOn = (call: Spelled): boolean =>
  valueAt(call, "ended_at") === undefined && valueAt(call, "deleted_at") === undefined && !hasException(call);

/** Microseconds from start to end; undefined if one is unknown, negative if it ended before it started. */
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
  const used = [valueAt(call, "summary", "usage"), inSummary(call, prefix, "costs")].flatMap(membersOf);
  if (used.length > 0) return [...new Set(used.map(({ key }) => key))];
  const named = namedModel(call);
  return named === undefined || named === "" ? [] : [named];
};

const namedModel = (call: Spelled): string | undefined =>
  textFrom(call, "output", "model") ?? textFrom(call, "inputs", "model");

/** Tokens by model. Assumed: `summary.usage[model]`, else `output.usage`. */
export const usagesOf = (call: Spelled): readonly Usage[] => {
  const models = membersOf(valueAt(call, "summary", "usage")).flatMap(({ key, value }) => usageOf(value, key));
  return models.length > 0 ? models : usageOf(valueAt(call, "output", "usage"), namedModel(call));
};

/** The tokens of a usage, in either of two spellings; empty if it has none. */
export const usageOf = (value: Spelled | undefined, model: string | undefined): readonly Usage[] => {
  const usage = {
    model,
    prompt: numberFrom(value, "prompt_tokens") ?? numberFrom(value, "input_tokens"),
    completion: numberFrom(value, "completion_tokens") ?? numberFrom(value, "output_tokens"),
    total: numberFrom(value, "total_tokens"),
  };
  return (usage.prompt ?? usage.completion ?? usage.total) === undefined ? [] : [usage];
};

/**
 * Costs by model; empty if the service gave none. Assumed: `<what>_tokens_total_cost` are amounts, in USD unless a
 * `…_cost_unit` next to them says otherwise.
 */
export const costsOf = (call: Spelled, prefix: string): readonly Cost[] =>
  membersOf(inSummary(call, prefix, "costs")).flatMap(({ key: model, value }) => {
    const parts = partsOf(value);
    if (parts.length === 0) return [];
    const units = value.members.filter((one) => one.key.endsWith("_cost_unit") && one.value.kind === "text");
    const unit = units.map((one) => one.value.text).find((text) => text.toUpperCase() !== "USD") ?? "USD";
    return [{ model, parts, unit, total: sumOf(parts) }];
  });

/** The cost in a usage, or in another count. Assumed: `cost` or `total_cost`, else amounts as in `costsOf`. */
export const costIn = (value: Spelled | undefined): Decimal | undefined => {
  const said = numberFrom(value, "cost") ?? numberFrom(value, "total_cost");
  const parts = said === undefined ? partsOf(value) : [{ amount: said }];
  return parts.length === 0 ? undefined : sumOf(parts);
};

const costSuffix = "_tokens_total_cost";
const firstParts = ["prompt", "completion"];

/** The amounts of a cost, each once, also those that are spelled as texts. */
const partsOf = (value: Spelled | undefined): Cost["parts"] => {
  const found = new Map<string, string>();
  for (const { key } of membersOf(value)) {
    const amount = key.endsWith(costSuffix) ? (numberFrom(value, key) ?? textFrom(value, key)) : undefined;
    if (amount !== undefined) found.set(key.slice(0, -costSuffix.length).replaceAll("_", " "), amount);
  }
  const names = new Set([...firstParts.filter((name) => found.has(name)), ...found.keys()]);
  return Array.from(names, (what) => ({ what, amount: found.get(what) ?? "" }));
};

const sumOf = (parts: readonly { readonly amount: string }[]): Decimal | undefined => {
  const amounts = parts.map(({ amount }) => parseDecimal(amount));
  return amounts.reduce(
    (sum, one) => (sum === undefined || one === undefined || one.digits < 0n ? undefined : addDecimals(sum, one)),
    zero,
  );
};

/** The exact sum of what several models cost, in USD; undefined if one of them can't be added. */
export const totalCost = (costs: readonly Cost[]): string | undefined => {
  let sum = zero;
  for (const { total, unit } of costs) {
    if (total === undefined || unit !== "USD") return undefined;
    sum = addDecimals(sum, total);
  }
  return formatDecimal(sum);
};

/** Assumed: it is under the deployment's own word, or at the top of the summary, or one level down; no model is called so. */
const inSummary = (call: Spelled, prefix: string, key: "costs" | "status"): Spelled | undefined => {
  const summary = valueAt(call, "summary");
  const elsewhere = membersOf(summary).map(({ value }) => valueAt(value, key));
  return valueAt(summary, prefix, key) ?? valueAt(summary, key) ?? elsewhere.find((value) => value !== undefined);
};

/** Fields that are content, or may be (interface 2.4). */
const contentFields: ReadonlySet<string> = new Set(["inputs", "output", "exception", "attributes", "display_name"]);

const ownFields: readonly string[] = [
  ...["id", "project_id", "op_name", "trace_id", "started_at", "parent_id", "thread_id", "turn_id", "ended_at"],
  ...["deleted_at", "storage_size_bytes", "total_storage_size_bytes"],
];

const vendorFields = ["user_id", "username", "run_id", "run_step", "run_step_end"];

/** The key of the sizes of what was left out, in bytes of JSON. */
export const omittedKey = "omitted_bytes";

/**
 * A call without what people and models wrote. `inputs`, `output`, `exception`, `attributes` and `display_name` go whole; of
 * `summary` and unknown fields every text goes that is not a number, a state or a currency; ids and names stay if they are
 * a few words. `omitted_bytes` has the size of what went, by field. `prefix` is the deployment's own word.
 */
export const withoutContent = (call: Spelled, prefix: string): Spelled => {
  const kept: [key: string, json: string][] = [];
  const omitted: [key: string, size: number][] = [];
  const known = new Set([...ownFields, ...vendorFields.flatMap((name) => [`vendor_${name}`, `${prefix}_${name}`])]);
  for (const { key, value } of call.members) {
    const json = isName(key) ? keptJson(key, value, known) : undefined;
    if (json !== undefined) kept.push([key, json]);
    const left = Buffer.byteLength(value.json) - Buffer.byteLength(json ?? "");
    if (left > 0) omitted.push([isName(key) ? key : "other", left]);
  }
  if (omitted.length > 0) kept.push([omittedKey, JSON.stringify(Object.fromEntries(omitted))]);
  return readSpelled(membersText(kept));
};

const keptJson = (key: string, value: Spelled, known: ReadonlySet<string>): string | undefined => {
  if (isNothing(value)) return "null";
  if (!known.has(key)) return contentFields.has(key) ? undefined : withoutTexts(key, value, maxLevels);
  const isShort = value.kind === "text" ? isName(value.text) : value.kind !== "object" && value.kind !== "list";
  return isShort ? value.json : undefined;
};

/** Numbers are not nested deeper. */
const maxLevels = 16;

/** A value without the texts in it; undefined if nothing is left. */
const withoutTexts = (key: string, value: Spelled, levels: number): string | undefined => {
  if (value.kind === "text") return isPlain(key, value.json.slice(1, -1)) ? value.json : undefined;
  if (value.kind !== "object" && value.kind !== "list") return value.json;
  if (levels === 0) return undefined;
  if (value.kind === "list") {
    const items = value.items.map((item) => withoutTexts("", item, levels - 1));
    return items.includes(undefined) ? undefined : `[${items.join(",")}]`;
  }
  const kept = value.members.map(
    (own) => [own.key, isName(own.key) ? withoutTexts(own.key, own.value, levels - 1) : undefined] as const,
  );
  return kept.length > 0 && kept.every(([, json]) => json === undefined) ? undefined : membersText(kept);
};

/** True if a text is a number, the word of a state, or a currency. */
const isPlain = (key: string, text: string): boolean =>
  /^[+-]?\d[\d.]{0,40}([eE][+-]?\d{1,3})?$/.test(text) ||
  (key === "status" && /^[a-z_]{1,32}$/i.test(text)) ||
  (key.endsWith("_unit") && /^[A-Z]{3}$/.test(text));

/** True if a text can be an id, a time or a name: a few words, and not long. */
const isName = (text: string): boolean => text.length <= 300 && /^(\S+( \S+){0,3})?$/.test(text);

/** A call without its content, of which states, durations, models, tokens and costs are still known. */
export const factsWithoutContent = (call: Spelled, prefix: string): Spelled => {
  const shown = withoutContent(call, prefix);
  const leftOut = ["exception", "ended_at", "deleted_at"].filter((key) => {
    const value = valueAt(call, key);
    return value !== undefined && inline(value) !== "" && valueAt(shown, key) === undefined;
  });
  const models = [textFrom(call, "output", "model"), textFrom(call, "inputs", "model")];
  const model = models.find((name) => name !== undefined && isName(name));
  const usage = membersOf(valueAt(call, "output", "usage")).filter(({ value }) => value.kind === "number");
  const output = objectText({
    model: model === undefined ? undefined : JSON.stringify(model),
    usage: membersText(usage.map(({ key, value }) => [key, value.json])),
  });
  return readSpelled(
    membersText([
      ...shown.members.map(({ key, value }) => [key, value.json] as const),
      ...leftOut.map((key) => [key, JSON.stringify("left out")] as const),
      ["output", output],
    ]),
  );
};
