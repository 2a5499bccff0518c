/** Reads and writes lock files: whole or not at all, and never over a file that is something else. */
import { readFileSync, statSync } from "node:fs";
import { Failure } from "../../failure.ts";
import { codeOf, writeWhole } from "../../files.ts";
import { faultOf } from "../../json/fault.ts";
import {
  elements,
  isObject,
  memberOf,
  members,
  newline,
  openBrace,
  openBracket,
  positionOf,
  type Span,
  skipWhite,
} from "../../json/walk.ts";
import { type CatalogName, catalogNames } from "../catalog-names.ts";
import { type LockedModel, lockMark, lockText, lockVersion } from "./facts.ts";

/** A place in a lock file: line and column from 1, the column in UTF-16 units. */
export interface LockSpot {
  readonly line: number;
  readonly column: number;
}

/** A lock file, read. */
export interface LockFile {
  readonly file: string;
  readonly models: readonly LockedModel[];
  /** The place of a value, or of the nearest one around it that is there. */
  spotOf(path: LockPath): LockSpot;
}

/** Keys and positions that lead to a value. */
export type LockPath = readonly (string | number)[];

/** Reads a lock file; undefined where there is none. @throws Failure `lock-unreadable`, `lock-broken` */
export const readLock = (file: string): LockFile | undefined => {
  const bytes = bytesOf(file);
  if (bytes === undefined) return undefined;
  const text = bytes.toString("utf8");
  const value = parse(text);
  if (value === undefined) {
    const where = { file, ...positionOf(bytes, faultOf(bytes).at) };
    throw new Failure("lock-broken", { file, wrong: "no-json" }, { where });
  }
  const spotOf = openSpots(bytes);
  const broken = (wrong: LockFault, path: LockPath): Failure => {
    const { line, column } = spotOf(path);
    return new Failure(
      "lock-broken",
      { file, wrong, field: path.map(String).join(".") },
      { where: { file, line, column } },
    );
  };
  const version = memberOf(value, lockMark);
  if (version === undefined) throw broken("no-lock", []);
  if (version !== lockVersion) throw broken("newer", [lockMark]);
  const list = memberOf(value, "models");
  if (!Array.isArray(list)) throw broken("type", ["models"]);
  const models = list.map((model: unknown, at) => {
    const read = readModel(model);
    if ("fault" in read) throw broken("type", ["models", at, ...read.fault]);
    return read.model;
  });
  return { file, models, spotOf };
};

/** What can be wrong with a lock file. */
type LockFault = "no-json" | "no-lock" | "newer" | "type";

const bytesOf = (file: string): Buffer | undefined => {
  try {
    // Devices and pipes have no end, or are emptied by being read.
    if (statSync(file).isFile() || statSync(file).isDirectory()) return readFileSync(file);
  } catch (thrown) {
    const code = codeOf(thrown);
    if (code === "ENOENT") return undefined;
    throw new Failure("lock-unreadable", { file, code }, { where: { file }, cause: thrown });
  }
  throw new Failure("lock-unreadable", { file, code: "not a file" }, { where: { file } });
};

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** A model of the file, or the path of the first fact of it that is not what it must be. */
const readModel = (value: unknown): { readonly model: LockedModel } | { readonly fault: LockPath } => {
  let fault: LockPath | undefined;
  /** A member that may be absent; what is there and wrong is the fault. */
  const read = <Kind>(name: string, is: (member: unknown) => member is Kind): Kind | undefined => {
    const member = memberOf(value, name);
    if (member === undefined || is(member)) return member;
    fault ??= [name];
    return undefined;
  };
  const [catalog, id] = [read("catalog", isCatalogName), read("id", isText)];
  const model = {
    quantization: read("quantization", isText),
    context_length: read("context_length", isCount),
    max_output_length: read("max_output_length", isCount),
    pricing: read("pricing", isPrices),
    input_modalities: read("input_modalities", isWords),
    output_modalities: read("output_modalities", isWords),
    supported_features: read("supported_features", isWords),
    supported_sampling_parameters: read("supported_sampling_parameters", isWords),
    countries: read("countries", isWords),
    deprecation_date: read("deprecation_date", isText),
  };
  if (fault !== undefined) return { fault };
  return catalog === undefined || id === undefined ? { fault: [] } : { model: { catalog, id, ...model } };
};

const isText = (value: unknown): value is string => typeof value === "string";
const isCount = (value: unknown): value is number => typeof value === "number" && value > 0;
const isWords = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every(isText);
const isPrices = (value: unknown): value is Readonly<Record<string, string>> =>
  isObject(value) && Object.values(value).every(isText);
const isCatalogName = (value: unknown): value is CatalogName => catalogNames.some((name) => name === value);

/** Finds places in a lock file: its lines and the beginnings of its models are looked for once. */
const openSpots = (bytes: Buffer): LockFile["spotOf"] => {
  const lines = lineStarts(bytes);
  const whole: Span = { start: skipWhite(bytes, 0), end: bytes.length };
  // Walked through once: a lock may hold every model that there is.
  const top =
    bytes[whole.start] === openBrace
      ? new Map(Array.from(members(bytes, whole.start), ({ key, value }) => [key, value]))
      : new Map<string, Span>();
  let models: readonly Span[] | undefined;
  return ([first, second, ...rest]) => {
    const list = top.get(String(first));
    let span = list ?? whole;
    if (list !== undefined && typeof second === "number") {
      models ??= bytes[list.start] === openBracket ? [...elements(bytes, list.start)] : [];
      span = models[second] ?? list;
      for (const step of rest) {
        const next = stepInto(bytes, span, step);
        if (next === undefined) break;
        span = next;
      }
    }
    return spotAt(bytes, span.start, lines);
  };
};

const lineStarts = (bytes: Buffer): readonly number[] => {
  const starts = [0];
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) starts.push(at + 1);
  return starts;
};

const stepInto = (bytes: Buffer, { start }: Span, step: string | number): Span | undefined => {
  if (typeof step === "number") return bytes[start] === openBracket ? [...elements(bytes, start)][step] : undefined;
  return bytes[start] === openBrace ? [...members(bytes, start)].findLast(({ key }) => key === step)?.value : undefined;
};

const spotAt = (bytes: Buffer, offset: number, starts: readonly number[]): LockSpot => {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return { line: low + 1, column: bytes.toString("utf8", starts[low], offset).length + 1 };
};

/**
 * Writes a lock file; false where it says the same already.
 * @throws Failure `lock-foreign` where a file is there that is no lock file, `lock-unwritable`
 */
export const writeLock = (file: string, models: readonly LockedModel[]): boolean => {
  const text = lockText(models);
  const before = bytesOf(file)?.toString("utf8");
  if (before === text) return false;
  if (before !== undefined && before.trim() !== "" && memberOf(parse(before), lockMark) === undefined) {
    throw new Failure("lock-foreign", { file }, { where: { file } });
  }
  try {
    writeWhole(file, [text], before === undefined ? 0o666 : statSync(file).mode & 0o777);
  } catch (thrown) {
    throw new Failure("lock-unwritable", { file, code: codeOf(thrown) }, { where: { file }, cause: thrown });
  }
  return true;
};
