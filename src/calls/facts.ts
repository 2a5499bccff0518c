/** Reads the facts of a traced call (interface 2.4). */
import { addDecimals, formatDecimal, parseDecimal, zero } from "../decimal.ts";
import {
  composeMembers,
  digitsAt,
  findValue,
  isAbsent,
  membersOf,
  parseRawJson,
  type RawJson,
  textAt,
} from "../json/raw-json.ts";

export type CallState = "ok" | "failed" | "running" | "deleted";

export const tokenKinds = ["prompt", "completion", "total"] as const;
export type TokenKind = (typeof tokenKinds)[number];
export type CallUsage = Readonly<Record<TokenKind, bigint | undefined> & { model: string | undefined }>;

/** `total` is undefined if an amount is negative or not a number. */
export type CallCost = ReturnType<typeof readCosts>[number];

export const findCallName = (call: RawJson) => textAt(call, "display_name") || findOperation(call);

/** Assumed: `op_name` is a name, or `<scheme>:///team/project/op/name:digest`. */
export const findOperation = (call: RawJson) => {
  const operation = textAt(call, "op_name") || undefined;
  return /^[a-z][a-z\d+.-]*:\/\/.*\/op\/([^/]+?)(?::[^:/]*)?$/i.exec(operation ?? "")?.[1] ?? operation;
};

export const readStatus = (call: RawJson, prefix: string) => textAt(findInSummary(call, prefix, "status"));

/** Assumed: a failed call has the status `error`, and a running call has the status `running`. */
export const findState = (call: RawJson, prefix: string): CallState => {
  const status = readStatus(call, prefix);
  if (hasValue(call, "deleted_at")) return "deleted";
  if (status === "error" || hasValue(call, "exception")) return "failed";
  return status === "running" || !hasValue(call, "ended_at") ? "running" : "ok";
};

export const isRunning = (call: RawJson) =>
  !["ended_at", "deleted_at", "exception"].some((field) => hasValue(call, field));

/** Also true if `omitContent` removed the value. */
const hasValue = (call: RawJson, field: string) => {
  const value = findValue(call, field) ?? findValue(call, omittedKey, field);
  return value !== undefined && !isEmpty(value);
};

const isEmpty = (value: RawJson) => isAbsent(value) || value.json === '""';

export const findDurationMicros = (call: RawJson) => {
  const started = parseMicros(textAt(call, "started_at"));
  const ended = parseMicros(textAt(call, "ended_at"));
  return started === undefined || ended === undefined ? undefined : ended - started;
};

/** Microseconds since 1970. Assumed: a time without an offset is UTC. */
const parseMicros = (text: string | undefined) => {
  const match = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:\.(\d+))?\s*(Z|[+-]\d\d:?\d\d)?$/i.exec(text ?? "");
  if (match === null) return undefined;
  const [, day = "", time = "", fraction = "", zone = "Z"] = match;
  const whole = Date.parse(`${day}T${time}${zone.toUpperCase()}`);
  return Number.isNaN(whole) ? undefined : whole * 1000 + Number(fraction.padEnd(6, "0").slice(0, 6));
};

export const findModels = (call: RawJson, prefix: string) => {
  const used = [findValue(call, "summary", "usage"), findInSummary(call, prefix, "costs")].flatMap(membersOf);
  return used.length > 0 ? [...new Set(used.map(({ key }) => key))] : [findNamedModel(call) ?? ""].filter(Boolean);
};

const findNamedModel = (call: RawJson) => textAt(call, "output", "model") ?? textAt(call, "inputs", "model");

/** Assumed: tokens are in `summary.usage[model]`, otherwise in `output.usage`. */
export const readUsages = (call: RawJson): readonly CallUsage[] => {
  const models = membersOf(findValue(call, "summary", "usage")).flatMap(({ key, value }) => readUsage(value, key));
  return models.length > 0 ? models : readUsage(findValue(call, "output", "usage"), findNamedModel(call));
};

const readUsage = (value: RawJson | undefined, model: string | undefined): readonly CallUsage[] => {
  const read = (key: string, other = key) => parseTokens(digitsAt(value, key) ?? digitsAt(value, other));
  const prompt = read("prompt_tokens", "input_tokens");
  const completion = read("completion_tokens", "output_tokens");
  const total = read("total_tokens");
  return (prompt ?? completion ?? total) === undefined ? [] : [{ model, prompt, completion, total }];
};

const parseTokens = (text = "") => {
  const decimal = parseDecimal(text);
  const whole = decimal ? formatDecimal(decimal) : "";
  return /^\d+$/.test(whole) ? BigInt(whole) : undefined;
};

export const sumTokens = ({ prompt, completion, total }: CallUsage) =>
  total ?? (prompt === undefined || completion === undefined ? undefined : prompt + completion);

/** Assumed: `…_tokens_total_cost` is in US dollars, unless a `…_cost_unit` names another currency. */
export const readCosts = (call: RawJson, prefix: string) =>
  membersOf(findInSummary(call, prefix, "costs")).flatMap(({ key: model, value }) => {
    const keys = new Set(value.members.map((member) => member.key).filter((key) => key.endsWith("_tokens_total_cost")));
    const texts = [...keys].flatMap((key) => digitsAt(value, key) ?? textAt(value, key) ?? []);
    if (texts.length === 0) return [];
    const amounts = texts.flatMap((text) => parseDecimal(text) ?? []).filter(({ digits }) => digits >= 0n);
    const total = amounts.length === texts.length ? amounts.reduce(addDecimals, zero) : undefined;
    const units = value.members.filter((member) => member.key.endsWith("_cost_unit") && member.value.kind === "text");
    const other = units.find((member) => member.value.text.toUpperCase() !== "USD");
    return [{ model, unit: other?.value.text ?? "USD", total }];
  });

export const readDollars = ({ unit, total }: CallCost) => (unit === "USD" ? total : undefined);

/** Assumed: `key` is in `summary`, or in an object inside `summary`. */
const findInSummary = (call: RawJson, prefix: string, key: "costs" | "status") => {
  const summary = findValue(call, "summary");
  const elsewhere = membersOf(summary).map(({ value }) => findValue(value, key));
  return findValue(summary, prefix, key) ?? findValue(summary, key) ?? elsewhere.find((value) => value !== undefined);
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
export const omitContent = (call: RawJson, prefix: string) => {
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
  return parseRawJson(composeMembers(kept));
};

const omitTexts = (key: string, value: RawJson, isName = false, levels = 16): string | undefined => {
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
  return kept.length > 0 && kept.every(([, member]) => member === undefined) ? undefined : composeMembers(kept);
};

const isFact = (key: string, json: string) =>
  /^"[+-]?\d[\d.]{0,40}([eE][+-]?\d{1,3})?"$/.test(json) ||
  (key === "status" && /^"[a-z_]{1,32}"$/i.test(json)) ||
  (key.endsWith("_unit") && /^"[A-Z]{3}"$/.test(json));

const isShortText = (text: string) => text.length <= 300 && /^(\S+( \S+){0,3})?$/.test(text);
