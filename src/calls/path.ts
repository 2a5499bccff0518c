/** Finds one value of a call by its path, such as `output.choices[0].message.content`. */
import { optionValueWrong } from "../failures.ts";
import { elementSpans, memberSpans, openBrace, openBracket, quote, type Span, wholeOf } from "../json/walk.ts";
import { nearest } from "../nearest.ts";

/** A path: keys, and positions in lists (negative ones count from the end). */
export type CallPath = readonly (string | number)[];

/** What stands at a path, or how far one can come. */
export type Found =
  | { readonly kind: "found"; readonly span: Span }
  | {
      readonly kind: "missing";
      /** The part of the path up to and with the step that leads nowhere. */
      readonly at: string;
      /** The path of what was meant, as far as one can guess. */
      readonly near: string | undefined;
      /** What is there instead: keys, or how long the list is. */
      readonly there: readonly string[];
    };

const step = /(?:^|\.)([^.[\]]+)|\[(-?\d{1,9})\]|\[("(?:[^"\\]|\\.)*")\]|\[('[^']*')\]/y;

/** Reads a path. Keys with dots or brackets stand as `["a.b"]`. @throws Failure `option-value-wrong` */
export const parsePath = (text: string, option: string): CallPath => {
  const path: (string | number)[] = [];
  let at = 0;
  while (at < text.length) {
    step.lastIndex = at;
    const match = step.exec(text);
    const read = match === null ? undefined : stepOf(match);
    if (match === null || read === undefined) break;
    path.push(read);
    at += match[0].length;
  }
  if (at === text.length && path.length > 0) return path;
  throw optionValueWrong({
    option,
    value: text,
    wanted: 'a path such as output.choices[0].message.content; a key with dots stands as inputs["a.b"]',
  });
};

const stepOf = ([, key, position, quoted, single]: RegExpExecArray): string | number | undefined => {
  if (key !== undefined) return key;
  if (position !== undefined) return Number(position);
  if (single !== undefined) return single.slice(1, -1);
  try {
    const value: unknown = JSON.parse(quoted ?? "");
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
};

/** Finds what stands at a path in one JSON object. Keys that hold dots are found too. */
export const findPath = (bytes: Uint8Array, path: CallPath): Found => findFrom(bytes, wholeOf(bytes), path, 0);

const findFrom = (bytes: Uint8Array, span: Span, path: CallPath, done: number): Found => {
  const next = path[done];
  if (next === undefined) return { kind: "found", span };
  if (typeof next === "number") {
    if (bytes[span.start] !== openBracket) return missing(path, done, undefined, kindAt(bytes, span));
    const items = elementSpans(bytes, span);
    const item = items.at(next);
    if (item === undefined) return missing(path, done, undefined, [`a list of ${items.length}`]);
    return findFrom(bytes, item, path, done + 1);
  }
  if (bytes[span.start] !== openBrace) return missing(path, done, undefined, kindAt(bytes, span));
  const own = memberSpans(bytes, span);
  let far: Found | undefined;
  let key = "";
  // A key may hold dots itself: the steps up to any of the next are tried as one.
  for (let end = done; end < path.length && typeof path[end] === "string"; end++) {
    key = end === done ? next : `${key}.${path[end]}`;
    const value = own.get(key);
    if (value === undefined) continue;
    const found = findFrom(bytes, value, path, end + 1);
    if (found.kind === "found") return found;
    far ??= found;
  }
  return far ?? missing(path, done, nearest(next, [...own.keys()]), [...own.keys()]);
};

const kinds: ReadonlyMap<number | undefined, string> = new Map([
  [openBrace, "an object"],
  [openBracket, "a list"],
  [quote, "a text"],
  [0x6e, "null"],
  [0x74, "true or false"],
  [0x66, "true or false"],
]);

const kindAt = (bytes: Uint8Array, { start }: Span): readonly string[] => [kinds.get(bytes[start]) ?? "a number"];

const missing = (path: CallPath, done: number, near: string | undefined, there: readonly string[]): Found => ({
  kind: "missing",
  at: formatPath(path.slice(0, done + 1)),
  near: near === undefined ? undefined : formatPath([...path.slice(0, done), near, ...path.slice(done + 1)]),
  there,
});

/** A path as it is typed. */
export const formatPath = (path: CallPath): string =>
  path
    .map((one, at) => {
      if (typeof one === "number") return `[${one}]`;
      return /^[^.[\]]+$/.test(one) ? `${at === 0 ? "" : "."}${one}` : `[${JSON.stringify(one)}]`;
    })
    .join("");
