/** Finds a value by a path such as `output.choices[0].message.content`. */

import { parseJson } from "../json/json-bytes.ts";
import { findMember, type RawJson } from "../json/raw-json.ts";
import { invalidOptionValue } from "../system/failures.ts";
import { findNearest } from "../text/nearest.ts";

/** A negative index counts from the end. */
export type CallPath = readonly (string | number)[];

/** `path` ends with the missing step. `candidates` are the possible keys and indexes of this step. */
export type MissingStep = Readonly<{
  kind: "missing";
  path: string;
  candidates: readonly string[];
  near: string | undefined;
}>;

const stepPattern =
  /(?:^|\.)(?<key>[^.[\]]+)|\[(?<position>-?\d{1,9})\]|\[(?<quoted>"(?:[^"\\]|\\.)*")\]|\['(?<single>[^']*)'\]/y;

/** @throws Failure `invalid-option-value` */
export const parsePath = (text: string, option: string): CallPath => {
  const path: (string | number)[] = [];
  stepPattern.lastIndex = 0;
  for (let match = stepPattern.exec(text); match !== null; match = stepPattern.exec(text)) {
    const { key, position, quoted, single } = match.groups ?? {};
    const name = quoted === undefined ? (key ?? single) : parseJson(quoted)?.value;
    const step = position === undefined ? name : Number(position);
    if (typeof step !== "string" && typeof step !== "number") break;
    path.push(step);
    if (stepPattern.lastIndex === text.length) return path;
  }
  const wanted = 'a path such as output.choices[0].message.content, or inputs["a.b"] for a key with dots';
  throw invalidOptionValue(option, text, wanted);
};

export const findPath = (call: RawJson, path: CallPath): { kind: "found"; value: RawJson } | MissingStep => {
  let value = call;
  for (const [depth, step] of path.entries()) {
    const child = typeof step === "number" ? value.items.at(step) : findMember(value, step);
    if (!child) {
      const keys = [...new Set(value.members.map(({ key }) => key))];
      const near = findNearest(String(step), keys);
      return {
        kind: "missing",
        path: formatPath(path.slice(0, depth + 1)),
        candidates: [...value.items.keys(), ...keys].map((known) => formatPath([known])),
        near: near === undefined ? undefined : formatPath(path.with(depth, near)),
      };
    }
    value = child;
  }
  return { kind: "found", value };
};

export const formatPath = (path: CallPath) =>
  path
    .map((step, index) => {
      if (typeof step === "number") return `[${step}]`;
      return /^[^.[\]]+$/.test(step) ? `${index === 0 ? "" : "."}${step}` : `[${JSON.stringify(step)}]`;
    })
    .join("");
