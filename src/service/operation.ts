/** Operations of the interface, and formats of refused requests. */
import { isUtf8 } from "node:buffer";
import type * as z from "zod/mini";
import { findFault } from "../json/reader.ts";
import { type JsonValue, parseValue, readRoot, spanOf } from "../json/table.ts";
import type { Endpoint } from "../wire/contract/endpoint.ts";
import type { ValidationItem } from "../wire/contract/validation-error.ts";

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

/** Bounds the answer to a body with millions of faults. */
export const maxFaults = 100;

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
  answer: async ({ body, parameters }) => await answer({ parameters, body: body && parseValue(readBody(body)) }),
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
  if (bytes.length === 0) throw invalidRequest([typeItem(["body"], undefined)]);
  if (!isUtf8(bytes)) throw new HttpRefusal(400, "There was an error parsing the body: it is not UTF-8");
  const root = readBounded(bytes, readJson);
  if (root) return root;
  throw invalidRequest([
    { loc: ["body", findFault(bytes)?.at ?? 0], msg: "Invalid JSON", type: "json_invalid", input: null },
  ]);
};

export type Loc = readonly (string | number)[];

/** @throws HttpRefusal 422 */
export const parseBody = <Of extends z.ZodMiniType>(schema: Of, value: unknown) => {
  const { error, data } = schema.safeParse(value, { reportInput: true });
  if (error) throw invalidRequest(error.issues.flatMap(toItems));
  return data;
};

const toItems = (issue: z.core.$ZodIssue): readonly ValidationItem[] => {
  const loc = ["body", ...issue.path.map(String)];
  if (issue.code === "unrecognized_keys") {
    return issue.keys.slice(0, maxFaults).map((key) => ({
      loc: [...loc, key],
      msg: "Extra inputs are not permitted",
      type: "extra_forbidden",
    }));
  }
  const expected = issue.code === "invalid_type" ? issue.expected : "value";
  return [typeItem(loc, issue.input === undefined ? undefined : expected)];
};

const typeNames: Readonly<Record<string, string>> = { "a whole number": "integer" };

/**
 * @param wanted a text such as `an array`; undefined for a missing field
 * @param given the wrong value, or the holder of the missing field
 */
export const typeItem = (loc: Loc, wanted: string | undefined, given?: JsonValue): ValidationItem => {
  const isShown = given !== undefined && spanOf(given).end - spanOf(given).start <= maxShownBytes;
  const input = isShown ? parseValue(given) : null;
  if (wanted === undefined) return { loc: [...loc], msg: "Field required", type: "missing", input };
  const msg = `Input should be a valid ${typeNames[wanted] ?? wanted.replace(/^an? /, "")}`;
  return { loc: [...loc], msg, type: wanted === "a datetime" ? "datetime_parsing" : "invalid_type", input };
};

const maxShownBytes = 5000;
