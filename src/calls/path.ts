/** Finds one value of a call by its path, such as `output.choices[0].message.content`. */
import { wrongValue } from "../failures.ts";
import { findMember, type RawJson } from "../json/raw-json.ts";
import { parseJson } from "../json/walk.ts";
import { findNearest } from "../nearest.ts";
import { formatList } from "../sentences.ts";

/** Keys of objects and indexes of lists. A negative index counts from the end. */
export type CallPath = readonly (string | number)[];

/** `at` ends with the missing step. `near` is a similar path. `found` describes the parent. */
export interface MissingStep extends Readonly<Record<"near" | "found", string | undefined>> {
  readonly kind: "missing";
  readonly at: string;
}

type PathResult = { readonly kind: "found"; readonly value: RawJson } | MissingStep;

const stepPattern =
  /(?:^|\.)(?<key>[^.[\]]+)|\[(?<position>-?\d{1,9})\]|\[(?<quoted>"(?:[^"\\]|\\.)*")\]|\['(?<single>[^']*)'\]/y;

/** Keys with dots or brackets are written as `["a.b"]`. @throws Failure `invalid-option-value` */
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
  throw wrongValue(option, text, wanted);
};

export const findPath = (call: RawJson, path: CallPath): PathResult => {
  let value = call;
  for (const [depth, next] of path.entries()) {
    const parent = depth === 0 ? "the call" : formatPath(path.slice(0, depth));
    const missing = (found: string | undefined, near?: string): PathResult => ({
      kind: "missing",
      at: formatPath(path.slice(0, depth + 1)),
      near: near === undefined ? undefined : formatPath([...path.slice(0, depth), near, ...path.slice(depth + 1)]),
      found,
    });
    if (value.kind !== (typeof next === "number" ? "list" : "object"))
      return missing(`${parent} is ${describeKind(value)}`);
    const child = typeof next === "number" ? value.items.at(next) : findMember(value, next);
    if (child === undefined && typeof next === "number") {
      const last = value.items.length - 1;
      return missing(last < 0 ? `${parent} is an empty list` : `found: [0]${last === 0 ? "" : ` to [${last}]`}`);
    }
    if (child === undefined) {
      const keys = [...new Set(value.members.map(({ key }) => key))];
      return missing(keys.length === 0 ? undefined : `found: ${formatList(keys)}`, findNearest(String(next), keys));
    }
    value = child;
  }
  return { kind: "found", value };
};

const describeKind = ({ kind, text }: RawJson) => {
  if (kind === "word") return text === "null" ? text : "a boolean";
  return kind === "object" ? "an object" : `a ${kind === "text" ? "string" : kind}`;
};

export const formatPath = (path: CallPath) =>
  path
    .map((step, index) => {
      if (typeof step === "number") return `[${step}]`;
      return /^[^.[\]]+$/.test(step) ? `${index === 0 ? "" : "."}${step}` : `[${JSON.stringify(step)}]`;
    })
    .join("");
