/** Reads JSON in bytes with unchanged digits, order and repeated keys. */
import { toBuffer } from "./json-bytes.ts";
import { parseRawJson } from "./raw-json.ts";

export const parseRawBytes = (bytes: Uint8Array) => parseRawJson(toBuffer(bytes).toString("utf8"));
