/** Reads the call ids in an answer. */
import { getValue, parseJson } from "../../json/json-bytes.ts";

export const emptyCallList = "[]";

const maxCallIdBytes = 200;

/** Assumed: the key is `call_ids`. Returns the ids as JSON, or `[]` if they are missing or invalid. */
export const findCallList = (body: Uint8Array, maxCalls: number, redact: (json: string) => string) => {
  const calls = getValue(parseJson(Buffer.from(body).toString("utf8"))?.value, ["call_ids"]);
  const isId = (id: unknown) => typeof id === "string" && Buffer.byteLength(id) <= maxCallIdBytes;
  return Array.isArray(calls) && calls.length <= maxCalls && calls.every(isId)
    ? redact(JSON.stringify(calls))
    : emptyCallList;
};

export const findFirstCall = (calls: string) => {
  const first = getValue(parseJson(calls)?.value, [0]);
  return typeof first === "string" ? first : undefined;
};
