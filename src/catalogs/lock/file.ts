/** Reads and writes lock files: whole or not at all, and never over a file that is something else. */
import { readFileSync, statSync } from "node:fs";
import { Failure } from "../../failure.ts";
import { codeOf, writeWhole } from "../../files.ts";
import { faultOf } from "../../json/reader.ts";
import { elementSpans, isObject, memberOf, parsedJson, positionOf, spanAt } from "../../json/walk.ts";
import { type CatalogName, catalogNames } from "../catalog-names.ts";
import { type LockedModel, lockMark, lockText, lockVersion } from "./facts.ts";

/** A lock file, read. */
export interface LockFile {
  readonly file: string;
  readonly models: readonly LockedModel[];
  /** Line and column of a fact of the model at a position, both from 1. */
  positionOf(model: number, path: LockPath): { readonly line: number; readonly column: number };
}

/** Keys and positions that lead from a model to one of its values. */
export type LockPath = readonly (string | number)[];

/** Reads a lock file; undefined where there is none. @throws Failure `lock-unreadable`, `lock-broken` */
export const readLock = (file: string): LockFile | undefined => {
  const bytes = bytesOf(file);
  if (bytes === undefined) return undefined;
  const broken = (wrong: LockFault, at: number, path: LockPath = []): Failure => {
    const where = { file, ...positionOf(bytes, at) };
    return new Failure("lock-broken", { file, wrong, field: path.join(".") }, { where });
  };
  const startOf = (...path: LockPath): number => spanAt(bytes, path)?.start ?? 0;
  const value = parsedJson(bytes.toString("utf8"))?.value;
  if (value === undefined) throw broken("no-json", faultOf(bytes).at);
  const version = memberOf(value, lockMark);
  if (version === undefined) throw broken("no-lock", startOf());
  if (version !== lockVersion) throw broken("newer", startOf(lockMark), [lockMark]);
  const [list, listSpan] = [memberOf(value, "models"), spanAt(bytes, ["models"])];
  if (!Array.isArray(list) || listSpan === undefined) throw broken("type", listSpan?.start ?? startOf(), ["models"]);
  // Found once: a lock may hold every model that there is.
  const spans = elementSpans(bytes, listSpan);
  const factAt = (model: number, path: LockPath): number => {
    const { start, end } = spans[model] ?? listSpan;
    return start + (spanAt(bytes.subarray(start, end), path)?.start ?? 0);
  };
  const models = list.map((model: unknown, at) => {
    const read = readModel(model);
    if ("fault" in read) throw broken("type", factAt(at, read.fault), ["models", at, ...read.fault]);
    return read.model;
  });
  return { file, models, positionOf: (model, path) => positionOf(bytes, factAt(model, path)) };
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

/**
 * Writes a lock file; false where it says the same already. `clean` makes its JSON harmless: a service may say anything.
 * @throws Failure `lock-foreign` where a file is there that is no lock file, `lock-unwritable`
 */
export const writeLock = (file: string, models: readonly LockedModel[], clean: (json: string) => string): boolean => {
  const text = clean(lockText(models));
  const before = bytesOf(file)?.toString("utf8");
  if (before === text) return false;
  if (before !== undefined && before.trim() !== "" && memberOf(parsedJson(before)?.value, lockMark) === undefined) {
    throw new Failure("lock-foreign", { file }, { where: { file } });
  }
  try {
    writeWhole(file, [text], before === undefined ? 0o666 : statSync(file).mode & 0o777);
  } catch (thrown) {
    throw new Failure("lock-unwritable", { file, code: codeOf(thrown) }, { where: { file }, cause: thrown });
  }
  return true;
};
