/** Recognizes results of tools that are errors (metrics.md), in tables. */

import { backslash, colon, openBrace, quote } from "../../json/json-bytes.ts";
import { Kind, kindsAsFacts, Shape } from "../../json/shape.ts";
import type { JsonTable } from "../../json/table.ts";
import * as json from "../../json/table.ts";
import { errorStatus, hasError, isErrorText, maxExceptionLength } from "../index/tool-errors.ts";
import { listTexts } from "./messages.ts";

const resultShape = new Shape(["name", "content", "is_error", "status"], kindsAsFacts);
const { slots } = resultShape;

/** Returns the node of the name in a result; 0 without one. */
export const findToolName = (table: JsonTable, message: number) =>
  resultShape.read(table, message).name === Kind.string ? resultShape.at(table, slots.name) : 0;

export const isErrorResult = (table: JsonTable, message: number) => {
  const kinds = resultShape.read(table, message);
  if (kinds.is_error === Kind.boolean && json.firstByteAt(table, resultShape.at(table, slots.is_error)) === letterT)
    return true;
  if (kinds.status === Kind.string && errorStatus.test(json.readString(table, resultShape.at(table, slots.status))))
    return true;
  const content = resultShape.at(table, slots.content);
  if (kinds.content === Kind.object) return hasError(json.parseNode(table, content));
  if (kinds.content === Kind.string) return isErrorString(table, content);
  const [first] = kinds.content === Kind.array ? listTexts(table, content) : [];
  return first !== undefined && isErrorString(table, first);
};

const isErrorString = (table: JsonTable, node: number) => {
  const { bytes } = table;
  const [start, end] = [json.startOf(table, node) + 1, json.endOf(table, node) - 1];
  const first = skipWhiteText(bytes, start);
  if (bytes[first] === openBrace)
    return bytes.subarray(start, end).includes("rror") && isErrorText(json.readString(table, node));
  const startsUntil = Math.min(end, start + maxExceptionLength);
  return canNameException(bytes, first) && isErrorText(bytes.toString("utf8", start, startsUntil));
};

/** Returns the position after spaces, and after escapes such as a line end. */
const skipWhiteText = (bytes: Buffer, start: number) => {
  let at = start;
  while (bytes[at] === space || bytes[at] === backslash) at += bytes[at] === backslash ? 2 : 1;
  return at;
};

/** Looks at the first word, because decoding each result takes long. */
const canNameException = (bytes: Buffer, start: number) => {
  let at = start;
  const first = bytes[at];
  while (isWordByte(bytes[at] ?? 0)) at++;
  const next = bytes[at];
  return (
    next === colon ||
    next === openParenthesis ||
    next === quote ||
    first === letterUpperT ||
    first === letterUpperU ||
    first === lessThan
  );
};

const isWordByte = (byte: number) =>
  (byte >= 0x61 && byte <= 0x7a) ||
  (byte >= 0x41 && byte <= 0x5a) ||
  (byte >= 0x30 && byte <= 0x39) ||
  byte === 0x5f ||
  byte === 0x2e;

const [letterT, letterUpperT, letterUpperU] = [0x74, 0x54, 0x55];
const [space, openParenthesis, lessThan] = [0x20, 0x28, 0x3c];
