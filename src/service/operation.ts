/** An operation of the interface: its request is checked before it is answered, and refused in its own words. Faults are in the words of a FastAPI service (interface 7). */

import { isUtf8 } from "node:buffer";
import type { Endpoint, Schema, SchemaOutput } from "../contract/endpoint.ts";
import type { ValidationItem } from "../contract/errors.ts";
import { findFirstIssues, type Issue } from "../contract/first-issues.ts";
import { findFault } from "../json/reader.ts";
import { type JsonValue, parseValue, readRoot } from "../json/table.ts";
import { getValue, sliceText } from "../json/walk.ts";
import { pluralize } from "../sentences.ts";
import type { Caller } from "./access.ts";

/** An answer before it is written: JSON text. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  /** Bytes of the request that were stored, and were not before. */
  readonly storedBytes?: number;
}

/** Ends a request before its operation has an answer. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The faults of the request: interface 7. */
  readonly items: readonly ValidationItem[] | undefined;

  constructor(status: number, message: string, more: Pick<Answer, "headers"> & { items?: Refusal["items"] } = {}) {
    super(message);
    this.status = status;
    this.headers = more.headers ?? {};
    this.items = more.items;
  }
}

/** Faults that a sentence names; `detail` has all. */
const maxNamedFaults = 5;

/** The refusal of a request that does not match the interface: 422, with an item for each fault. */
export const invalidRequest = (items: readonly ValidationItem[]): Refusal => {
  const faults = items.slice(0, maxNamedFaults).map(({ loc, msg }) => `${loc.join(".")}: ${msg}`);
  return new Refusal(422, faults.join("; "), { items });
};

/** The error body of an operation. */
type ErrorFormat = (refusal: Pick<Refusal, "status" | "message" | "items">) => unknown;

/** Service-interface 7: `detail`, with items if there are any, each `loc` all text. Assumed: a sentence if there are none. */
export const detailError: ErrorFormat = ({ message, items }) => ({
  detail: items?.map((item) => ({ ...item, loc: item.loc.map(String) })) ?? message,
});

/** Assumed: errors of the model list are those of an OpenAI-style service, because its clients read them. */
export const openAiError: ErrorFormat = ({ message, status }) => ({
  error: { message, type: "invalid_request_error", param: null, code: status === 401 ? "invalid_api_key" : null },
});

/** Assumed: a call read gives its reason. */
export const reasonError: ErrorFormat = ({ message }) => ({ reason: message });

/** Returns a refusal as an answer, without the input if that is nested too deeply to be written. */
export const answerRefusal = ({ status, headers, message, items }: Refusal, wording: ErrorFormat): Answer => {
  const write = (shown: Refusal["items"]) => JSON.stringify(wording({ status, message, items: shown }));
  try {
    return { status, headers, body: write(items) };
  } catch (thrown) {
    if (!(thrown instanceof RangeError)) throw thrown;
    return { status, headers, body: write(items?.map((item) => ({ ...item, input: null }))) };
  }
};

interface RawRequest {
  readonly caller: Caller;
  readonly parameters: Readonly<Record<string, string>>;
  /** Undefined for an operation without a body. */
  readonly bytes: Uint8Array | undefined;
  readonly header: (name: string) => string | undefined;
}

interface Request<P extends Schema, B extends Schema> extends Omit<RawRequest, "parameters"> {
  readonly parameters: SchemaOutput<P>;
  readonly body: SchemaOutput<B>;
}

export interface Operation {
  readonly endpoint: Endpoint;
  readonly errorFormat: ErrorFormat;
  /** @throws Refusal */
  readonly answer: (request: RawRequest) => Answer | Promise<Answer>;
}

/** Makes an operation from its endpoint, its error body, and its answer to a checked request. */
export const defineOperation = <P extends Schema, B extends Schema, R>(
  endpoint: Endpoint<P, B, R>,
  wording: ErrorFormat,
  answer: (request: Request<P, B>) => Answer | Promise<Answer>,
): Operation => ({
  endpoint,
  errorFormat: wording,
  answer: async ({ bytes, ...request }) => {
    const parameters = parseOrRefuse(endpoint.parameters, request.parameters, "path");
    const body = parseOrRefuse(endpoint.body, bytes === undefined ? undefined : parseValue(readBody(bytes)), "body");
    return await answer({ ...request, parameters, body, bytes });
  },
});

/** Reads the JSON of a body into a table. @throws Refusal 400, 422 */
export const readBody = (bytes: Uint8Array): JsonValue => {
  if (bytes.length === 0) throw invalidRequest([missingItem(["body"], null)]);
  if (!isUtf8(bytes)) throw new Refusal(400, "There was an error parsing the body: it is not UTF-8");
  const root = readRoot(bytes);
  if (root !== undefined) return root;
  // `loc` counts characters.
  const position = Array.from(sliceText(bytes, { start: 0, end: findFault(bytes)?.at ?? 0 })).length;
  throw invalidRequest([{ loc: ["body", position], msg: "Invalid JSON", type: "json_invalid", input: null }]);
};

/** The position of a value in a request; "body" or "path" comes first. */
export type Loc = readonly (string | number)[];

/** Faults that one answer names. More of them have one cause. */
export const maxFaults = 100;

/** Returns the value as the schema has it. @throws Refusal 422 */
export const parseOrRefuse = <Of extends Schema>(
  schema: Of,
  value: unknown,
  source: "body" | "path",
): SchemaOutput<Of> => {
  const faults = findFaults(schema, value, [source]);
  if (faults.length > 0) throw invalidRequest(faults);
  return schema.parse(value);
};

/** Returns the faults of a value at a position, up to a number; none if the schema accepts it. */
export const findFaults = (schema: Schema, value: unknown, at: Loc, max = maxFaults): readonly ValidationItem[] =>
  findFirstIssues(schema, value, max)
    .flatMap((issue) => validationItems(issue, value, at))
    .slice(0, max);

/** The item for a field that is missing in an object. */
export const missingItem = (loc: Loc, holder: unknown): ValidationItem => ({
  loc: [...loc],
  msg: "Field required",
  type: "missing",
  input: shownInput(holder),
});

const validationItems = (issue: Issue, value: unknown, above: Loc): readonly ValidationItem[] => {
  const path = issue.path.map((part) => (typeof part === "symbol" ? String(part) : part));
  const loc = [...above, ...path];
  const input = getValue(value, path);
  if (issue.code === "unrecognized_keys") {
    return issue.keys.slice(0, maxFaults).map((key) => ({
      loc: [...loc, key],
      msg: "Extra inputs are not permitted",
      type: "extra_forbidden",
      input: shownInput(getValue(input, [key])),
    }));
  }
  if (input === undefined) return [missingItem(loc, getValue(value, path.slice(0, -1)))];
  const { msg, type, ctx } = describeFault(issue, input);
  return [{ loc, msg, type, input: shownInput(input), ctx }];
};

/** Values and characters of the input that an answer repeats. */
const maxShownInput = 10_000;

/** Returns the input for an answer; null if it is long. */
const shownInput = (input: unknown): unknown => {
  const rest = [input];
  for (let left = maxShownInput; rest.length > 0; left--) {
    const next = rest.pop();
    if (typeof next === "string") left -= next.length;
    if (typeof next === "object" && next !== null) {
      const inner: readonly unknown[] = Array.isArray(next) ? next : Object.entries(next).flat();
      if (inner.length > left) return null;
      rest.push(...inner);
    }
    if (left < 0) return null;
  }
  return input ?? null;
};

type Fault = Pick<ValidationItem, "type" | "msg" | "ctx">;

/** The faults of a value of another type, by the type that is expected. */
const faultsByExpectedType: Readonly<Record<string, Fault>> = {
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

/** The faults of a text that cannot be read as a number. */
const faultsByNumberType: Readonly<Record<string, Fault>> = {
  number: { type: "float_parsing", msg: "Input should be a valid number, unable to parse string as a number" },
  int: { type: "int_parsing", msg: "Input should be a valid integer, unable to parse string as an integer" },
};

const describeFault = (issue: Issue, input: unknown): Fault => {
  const other = { type: "value_error", msg: issue.message };
  if (issue.code === "custom" && typeof input === "string") {
    return { type: "datetime_from_date_parsing", msg: "Input should be a valid datetime" };
  }
  if (issue.code === "too_small" && typeof input === "string") {
    const least = Number(issue.minimum);
    const msg = `String should have at least ${pluralize(least, "character")}`;
    return { type: "string_too_short", msg, ctx: { min_length: least } };
  }
  if (issue.code !== "invalid_type") return other;
  if (typeof input === "number" && issue.expected === "int") {
    return Number.isFinite(input)
      ? { type: "int_from_float", msg: "Input should be a valid integer, got a number with a fractional part" }
      : { type: "finite_number", msg: "Input should be a finite number" };
  }
  const isNumeral = typeof input === "string" && input.trim() !== "" && Number.isFinite(Number(input));
  const parsing = typeof input === "string" && !isNumeral ? faultsByNumberType[issue.expected] : undefined;
  return parsing ?? faultsByExpectedType[issue.expected] ?? other;
};
