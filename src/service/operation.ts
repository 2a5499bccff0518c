/** Operations of the interface, and formats of refused requests. */
import { isUtf8 } from "node:buffer";
import type * as z from "zod/mini";
import { countNested, getValue } from "../json/json-bytes.ts";
import { findFault } from "../json/reader.ts";
import { type JsonValue, parseValue, readRoot, spanOf } from "../json/table.ts";
import { ignoreErrors } from "../system/files.ts";
import type { Endpoint } from "../wire/contract/endpoint.ts";
import { type Issue, maxFaults, type ValidationItem } from "../wire/contract/log-schemas.ts";

export class HttpRefusal extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly items: readonly ValidationItem[] | undefined;

  constructor(status: number, message: string, headers: HttpRefusal["headers"] = {}, items?: HttpRefusal["items"]) {
    super(message);
    this.status = status;
    this.headers = headers;
    this.items = items;
  }
}

export type ErrorFormat = (refusal: HttpRefusal) => unknown;

/** Interface 7. Assumed: without items, `detail` is a sentence. */
export const detailError: ErrorFormat = ({ message, items }) => ({
  detail: items?.map((item) => ({ ...item, loc: item.loc.map(String) })) ?? message,
});

/** Assumed: errors of the model list have OpenAI's format, because OpenAI's clients read the list. */
export const openAiError: ErrorFormat = ({ message, status }) => ({
  error: { message, type: "invalid_request_error", param: null, code: status === 401 ? "invalid_api_key" : null },
});

/** Assumed: errors about calls have this format. */
export const reasonError: ErrorFormat = ({ message }) => ({ reason: message });

type Body = string | Uint8Array;

export const invalidRequest = (faults: readonly ValidationItem[]) => {
  const items = faults.slice(0, maxFaults);
  const message = items.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("; ");
  return new HttpRefusal(422, message, {}, items);
};

export type Operation = Readonly<{
  endpoint: Endpoint;
  errorFormat: ErrorFormat;
  /** Default: the limit of the service. */
  maxBodyBytes?: number;
  /** Returns the body of a reply with status 200. @throws HttpRefusal */
  answer: (request: {
    parameters: Readonly<Record<string, string>>;
    /** Undefined for GET. */
    body: Uint8Array | undefined;
    idempotencyKey: string | undefined;
  }) => Promise<Body>;
}>;

/** Parsing a larger body would delay other requests. */
const maxParsedBytes = 2 ** 20;

export const defineOperation = (
  endpoint: Endpoint,
  errorFormat: ErrorFormat,
  answer: (request: { parameters: Readonly<Record<string, string>>; body: unknown }) => Promise<Body>,
): Operation => ({
  endpoint,
  errorFormat,
  maxBodyBytes: maxParsedBytes,
  answer: async ({ body, parameters }) => await answer({ parameters, body: body && parseBounded(readBody(body)) }),
});

/** The maximum number of values outside of messages and other lists, because each takes 16 bytes. */
export const maxReadValues = 2 ** 23;

const readBounded = (bytes: Uint8Array, readJson: typeof readRoot) => {
  try {
    return readJson(bytes);
  } catch (thrown) {
    if (!(thrown instanceof RangeError)) throw thrown;
    throw new HttpRefusal(413, `the body has more than ${maxReadValues} values`);
  }
};

export const readBody = (bytes: Uint8Array, readJson = readRoot) => {
  if (bytes.length === 0) throw invalidRequest([missingItem(["body"], null)]);
  if (!isUtf8(bytes)) throw new HttpRefusal(400, "There was an error parsing the body: it is not UTF-8");
  const root = readBounded(bytes, readJson);
  if (root) return root;
  throw invalidRequest([
    { loc: ["body", findFault(bytes)?.at ?? 0], msg: "Invalid JSON", type: "json_invalid", input: null },
  ]);
};

/** The maximum number of objects and arrays, because each takes memory. */
const maxParsedValues = 2 ** 22;

/** @throws HttpRefusal 413 */
export const requireBounded = (value: JsonValue) => {
  const { start, end } = spanOf(value);
  const bytes = value.table.bytes.subarray(start, end);
  // Each value has at least one byte, so a short text needs no count.
  if (bytes.length > maxParsedValues && countNested(bytes, maxParsedValues) > maxParsedValues) {
    throw new HttpRefusal(413, `the body has more than ${maxParsedValues} objects and arrays`);
  }
};

/** @throws HttpRefusal 413 */
export const parseBounded = (value: JsonValue) => {
  requireBounded(value);
  return parseValue(value);
};

export type Loc = readonly (string | number)[];

type Schema = z.ZodMiniType;

/** @throws HttpRefusal 422 */
export const parseBody = <Of extends Schema>(schema: Of, value: unknown) => {
  const faults = findFaults(schema, value, ["body"]);
  if (faults.length > 0) throw invalidRequest(faults);
  return schema.parse(value);
};

export const findFaults = (schema: Schema, value: unknown, loc: Loc) =>
  schema.safeParse(value).error?.issues.flatMap((issue) => toValidationItems(issue, value, loc)) ?? [];

const missingItem = (loc: Loc, holder: unknown): ValidationItem => ({
  loc: [...loc],
  msg: "Field required",
  type: "missing",
  input: shownInput(holder),
});

const toValidationItems = (issue: Issue, value: unknown, prefix: Loc): readonly ValidationItem[] => {
  const path = issue.path.map((step) => (typeof step === "number" ? step : String(step)));
  const loc = [...prefix, ...path];
  if (issue.code === "unrecognized_keys") {
    return issue.keys.slice(0, maxFaults).map((key) => ({
      loc: [...loc, key],
      msg: "Extra inputs are not permitted",
      type: "extra_forbidden",
    }));
  }
  const input = getValue(value, path);
  if (input === undefined) return [missingItem(loc, getValue(value, path.slice(0, -1)))];
  return [{ loc, ...describeFault(issue), input: shownInput(input) }];
};

const maxShownInput = 5000;

const shownInput = (input: unknown = null) =>
  ignoreErrors(() => (JSON.stringify(input).length > maxShownInput ? null : input)) ?? null;

const typeNames: Readonly<Record<string, string>> = { int: "integer", record: "object" };

const describeFault = (issue: Issue) => {
  if (issue.code === "custom") return { msg: "Input should be a valid datetime", type: "datetime_parsing" };
  const expected = issue.code === "invalid_type" ? issue.expected : "value";
  return { msg: `Input should be a valid ${typeNames[expected] ?? expected}`, type: issue.code };
};
