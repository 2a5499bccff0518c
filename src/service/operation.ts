/** One operation of the interface, made of its endpoint value: what comes in is checked before it is answered, and faults are said in the words of a FastAPI service (interface 7). */

import { isUtf8 } from "node:buffer";
import type { Checked, Endpoint, Schema } from "../contract/endpoint.ts";
import type { ValidationItem } from "../contract/errors.ts";
import { firstIssues, type Issue } from "../contract/first-issues.ts";
import { counted } from "../counted.ts";
import { faultIn } from "../json/reader.ts";
import { textOf, valueAt, wholeOf } from "../json/walk.ts";
import { type Answer, invalid, Refusal, type Wording } from "./answer.ts";
import type { Caller } from "./keys.ts";

/** A checked request. */
interface Request<P extends Schema, B extends Schema> {
  readonly caller: Caller;
  readonly parameters: Checked<P>;
  readonly body: Checked<B>;
  /** The body as it came, valid JSON. */
  readonly bytes: Uint8Array;
  readonly header: (name: string) => string | undefined;
}

/** A request as it came. */
interface RawRequest {
  readonly caller: Caller;
  readonly parameters: Readonly<Record<string, string>>;
  /** Undefined where the operation has no body. */
  readonly bytes: Uint8Array | undefined;
  readonly header: (name: string) => string | undefined;
}

/** An operation behind its door. */
export interface Operation {
  readonly endpoint: Endpoint;
  readonly wording: Wording;
  /** @throws Refusal */
  readonly answer: (request: RawRequest) => Answer | Promise<Answer>;
}

/** An operation: an endpoint, how it words what is wrong, and its answer to a checked request. */
export const operation = <P extends Schema, B extends Schema, R extends Schema>(
  endpoint: Endpoint<P, B, R>,
  wording: Wording,
  answer: (request: Request<P, B>) => Answer | Promise<Answer>,
): Operation => ({
  endpoint,
  wording,
  answer: async (request) => {
    const parameters = checked(endpoint.parameters, request.parameters, "path");
    const bytes = request.bytes ?? new Uint8Array();
    const body = checked(endpoint.body, request.bytes === undefined ? undefined : parsed(request.bytes), "body");
    return await answer({ parameters, body, bytes, header: request.header, caller: request.caller });
  },
});

/** The body's value. @throws Refusal where it is not JSON */
const parsed = (bytes: Uint8Array): unknown => {
  requireJson(bytes);
  return JSON.parse(textOf(bytes, wholeOf(bytes)));
};

/** Finds what keeps a body from being JSON, without a value of it in memory. @throws Refusal where anything does */
export const requireJson = (bytes: Uint8Array): void => {
  if (bytes.length === 0) throw invalid([{ loc: ["body"], msg: "Field required", type: "missing", input: null }]);
  if (!isUtf8(bytes)) throw new Refusal(400, "There was an error parsing the body: it is not UTF-8");
  const fault = faultIn(bytes);
  if (fault !== undefined) throw invalid([jsonItem(bytes, fault.at)]);
};

/** Where a value stands in a request; "body" or "path" comes first. */
export type Loc = readonly (string | number)[];

/** Faults that one answer names: who sends more of them has one cause for all. */
export const mostFaults = 100;

/** The value as the schema has it. @throws Refusal 422, with an item for each fault, up to a number */
export const checked = <Of extends Schema>(schema: Of, value: unknown, source: "body" | "path"): Checked<Of> => {
  const faults = faultsIn(schema, value, [source]);
  if (faults.length > 0) throw invalid(faults);
  const outcome = schema.safeParse(value);
  if (outcome.success) return outcome.data;
  throw invalid(outcome.error.issues.slice(0, mostFaults).flatMap((issue) => itemsOf(issue, value, [source])));
};

/** What a schema has against a value that stands at a place, up to a number; none where it takes it. */
export const faultsIn = (schema: Schema, value: unknown, at: Loc, most = mostFaults): readonly ValidationItem[] =>
  firstIssues(schema, value, most)
    .flatMap((issue) => itemsOf(issue, value, at))
    .slice(0, most);

const itemsOf = (issue: Issue, value: unknown, above: Loc): readonly ValidationItem[] => {
  const path = issue.path.map((part) => (typeof part === "symbol" ? String(part) : part));
  const loc = [...above, ...path];
  const input = valueAt(value, path);
  if (issue.code === "unrecognized_keys") {
    return issue.keys.slice(0, mostFaults).map((key) => ({
      loc: [...loc, key],
      msg: "Extra inputs are not permitted",
      type: "extra_forbidden",
      input: shown(valueAt(input, [key])),
    }));
  }
  if (input === undefined) {
    return [{ loc, msg: "Field required", type: "missing", input: shown(valueAt(value, path.slice(0, -1))) }];
  }
  const { msg, type, ctx } = fault(issue, input);
  return [{ loc, msg, type, input: shown(input), ctx }];
};

/** Values and characters that are given back of what was given. */
const mostShown = 10_000;

/** What was given, for an answer; null where that is long. */
const shown = (input: unknown): unknown => (isShort(input) ? (input ?? null) : null);

const isShort = (value: unknown): boolean => {
  const rest = [value];
  for (let left = mostShown; rest.length > 0; left--) {
    const next = rest.pop();
    if (typeof next === "string") left -= next.length;
    if (typeof next === "object" && next !== null) {
      const inner: readonly unknown[] = Array.isArray(next) ? next : Object.entries(next).flat();
      if (inner.length > left) return false;
      rest.push(...inner);
    }
    if (left < 0) return false;
  }
  return true;
};

type Fault = Pick<ValidationItem, "type" | "msg" | "ctx">;

const faults: Readonly<Record<string, Fault>> = {
  string: { type: "string_type", msg: "Input should be a valid string" },
  number: { type: "float_type", msg: "Input should be a valid number" },
  int: { type: "int_type", msg: "Input should be a valid integer" },
  boolean: { type: "bool_type", msg: "Input should be a valid boolean" },
  array: { type: "list_type", msg: "Input should be a valid list" },
  record: { type: "dict_type", msg: "Input should be a valid dictionary" },
  object: {
    type: "model_attributes_type",
    msg: "Input should be a valid dictionary or object to extract fields from",
  },
};

/** What a text in place of a number is, where it does not even read as one. */
const parsingFaults: Readonly<Record<string, Fault>> = {
  number: { type: "float_parsing", msg: "Input should be a valid number, unable to parse string as a number" },
  int: { type: "int_parsing", msg: "Input should be a valid integer, unable to parse string as an integer" },
};

const fault = (issue: Issue, input: unknown): Fault => {
  if (issue.code === "custom" && typeof input === "string") {
    return { type: "datetime_from_date_parsing", msg: "Input should be a valid datetime" };
  }
  if (typeof input === "number" && issue.code === "invalid_type" && issue.expected === "int") {
    return Number.isFinite(input)
      ? { type: "int_from_float", msg: "Input should be a valid integer, got a number with a fractional part" }
      : { type: "finite_number", msg: "Input should be a finite number" };
  }
  if (issue.code === "too_small" && typeof input === "string") {
    const least = Number(issue.minimum);
    return {
      type: "string_too_short",
      msg: `String should have at least ${counted(least, "character")}`,
      ctx: { min_length: least },
    };
  }
  if (issue.code !== "invalid_type") return other(issue);
  const asText = typeof input === "string" && !isNumeral(input) ? parsingFaults[issue.expected] : undefined;
  return asText ?? faults[issue.expected] ?? other(issue);
};

const isNumeral = (input: string): boolean => input.trim() !== "" && Number.isFinite(Number(input));

const other = (issue: Issue): Fault => ({ type: "value_error", msg: issue.message });

/** The item for a body that is not JSON from a byte on: `loc` counts characters. */
const jsonItem = (bytes: Uint8Array, at: number): ValidationItem => {
  const position = Array.from(textOf(bytes, { start: 0, end: at })).length;
  return { loc: ["body", position], msg: "Invalid JSON", type: "json_invalid", input: null };
};
