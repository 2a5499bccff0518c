/** Reads of a call what counts, without taking apart what went in and came out. */

import { readSpelledAt, type Spelled, type SpelledMember } from "../json/spelled.ts";
import { members, type Span, skipWhite } from "../json/walk.ts";

/** What of the fields that can be long is read. */
const partly: Readonly<Record<string, readonly string[]>> = {
  inputs: ["model"],
  output: ["model", "usage"],
  attributes: [],
};

/** A call without its contents: enough for its name, state, duration, models, tokens and costs. `bytes` is one JSON object. */
export const readHead = (bytes: Uint8Array): Spelled => ({
  kind: "object",
  members: Array.from(members(bytes, skipWhite(bytes, 0)), ({ key, value }) => memberOf(bytes, key, value)),
});

const openBrace = 0x7b;

const memberOf = (bytes: Uint8Array, key: string, span: Span): SpelledMember => {
  const kept = Object.hasOwn(partly, key) ? partly[key] : undefined;
  if (kept === undefined || bytes[span.start] !== openBrace) return { key, value: readSpelledAt(bytes, span) };
  const inner = Array.from(members(bytes, span.start)).filter((one) => kept.includes(one.key));
  return {
    key,
    value: {
      kind: "object",
      members: inner.map((one) => ({ key: one.key, value: readSpelledAt(bytes, one.value) })),
    },
  };
};
