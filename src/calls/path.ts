/** Finds one value of a call by its path, such as `output.choices[0].message.content`. */
import { wrongValue } from "../failures.ts";
import { findMember, type RawJson } from "../json/raw-json.ts";
import { parseJson } from "../json/walk.ts";
import { findNearest } from "../nearest.ts";

/** Keys of objects and indexes of lists. A negative index counts from the end. */
export type CallPath = readonly (string | number)[];

/** `at` ends with the missing step. `near` is a similar path. `known` has the keys, indexes or kind of the parent. */
export type MissingStep = Readonly<{ kind: "missing"; at: string; near: string | undefined; known: readonly string[] }>;
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
    const missing = (known: readonly string[], near?: string): PathResult => ({
      kind: "missing",
      at: formatPath(path.slice(0, depth + 1)),
      near: near === undefined ? undefined : formatPath([...path.slice(0, depth), near, ...path.slice(depth + 1)]),
      known,
    });
    if (value.kind !== (typeof next === "number" ? "list" : "object")) return missing([describeKind(value)]);
    const child = typeof next === "number" ? value.items.at(next) : findMember(value, next);
    if (child === undefined && typeof next === "number") return missing([describeIndexes(value.items.length)]);
    if (child === undefined) {
      const keys = [...new Set(value.members.map(({ key }) => key))];
      return missing(keys, findNearest(String(next), keys));
    }
    value = child;
  }
  return { kind: "found", value };
};

const describeIndexes = (count: number) => {
  if (count === 0) return "an empty list";
  return count === 1 ? "[0]" : `[0] to [${count - 1}]`;
};

const describeKind = ({ kind, text }: RawJson) => {
  if (kind === "word") return text === "null" ? text : "a boolean";
  return kind === "object" ? "an object" : `a ${kind}`;
};

export const formatPath = (path: CallPath) =>
  path
    .map((step, index) => {
      if (typeof step === "number") return `[${step}]`;
      return /^[^.[\]]+$/.test(step) ? `${index === 0 ? "" : "."}${step}` : `[${JSON.stringify(step)}]`;
    })
    .join("");
