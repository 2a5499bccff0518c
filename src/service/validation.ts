/** What is wrong with a request, in the words of a FastAPI service (service-interface 7). */
import type { Checked, Schema } from "../contract/endpoint.ts";
import type { ValidationItem } from "../contract/errors.ts";
import { invalid } from "./answer.ts";

/** Where a checked value came from: the first word of `loc`. */
export type Source = "body" | "path";

/** The value as the schema has it. @throws Refusal 422, with an item for each fault */
export const checked = <Of extends Schema>(schema: Of, value: unknown, source: Source): Checked<Of> => {
  const outcome = schema.safeParse(value);
  if (outcome.success) return outcome.data;
  throw invalid(outcome.error.issues.flatMap((issue) => itemsOf(issue, value, source)));
};

type Issue = NonNullable<ReturnType<Schema["safeParse"]>["error"]>["issues"][number];

const itemsOf = (issue: Issue, value: unknown, source: Source): readonly ValidationItem[] => {
  const path = issue.path.map((part) => (typeof part === "symbol" ? String(part) : part));
  const loc = [source, ...path];
  const input = at(value, path);
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({
      loc: [...loc, key],
      msg: "Extra inputs are not permitted",
      type: "extra_forbidden",
      input: at(input, [key]),
    }));
  }
  if (input === undefined) {
    return [{ loc, msg: "Field required", type: "missing", input: at(value, path.slice(0, -1)) ?? null }];
  }
  return [{ loc, ...fault(issue, input), input }];
};

/** The value at a path; undefined where there is none. */
const at = (value: unknown, path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>(
    (inner, part) =>
      typeof inner === "object" && inner !== null && Object.hasOwn(inner, part) ? Reflect.get(inner, part) : undefined,
    value,
  );

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

const fault = (issue: Issue, input: unknown): Fault => {
  if (issue.code === "invalid_type") {
    if (issue.expected === "int" && typeof input === "number") {
      return {
        type: "int_from_float",
        msg: "Input should be a valid integer, got a number with a fractional part",
      };
    }
    return faults[issue.expected] ?? { type: "value_error", msg: issue.message };
  }
  if (issue.code === "too_small" && typeof input === "string") {
    const least = Number(issue.minimum);
    return {
      type: "string_too_short",
      msg: `String should have at least ${least} character${least === 1 ? "" : "s"}`,
      ctx: { min_length: least },
    };
  }
  return { type: "value_error", msg: issue.message };
};

/** The item for a body that is no JSON. */
export const jsonItem = (_bytes: Uint8Array): ValidationItem => ({
  loc: ["body", 0],
  msg: "JSON decode error",
  type: "json_invalid",
  input: {},
  ctx: { error: "Expecting value" },
});
