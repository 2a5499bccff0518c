/** Lock files: the facts of models at one time, each on its own line, so that the same facts are the same text. */
import { readFileSync, statSync } from "node:fs";
import * as z from "zod/mini";
import type { CatalogModel } from "../contract/catalog.ts";
import { typedValue } from "../contract/replies.ts";
import type { Failure } from "../failure.ts";
import { getErrorCode, writeFileAtomically } from "../files.ts";
import { requireFault } from "../json/reader.ts";
import { findSpan, getMember, listElementSpans, locateOffset, parseJson } from "../json/walk.ts";
import { type CatalogName, catalogNames } from "./catalog-files.ts";
import { invalidLock, type LockFault, lockNotOverwritten, lockUnreadable, lockUnwritable } from "./failures.ts";
import { namedPrices, priceAt, priceNames } from "./fields.ts";
import { compareCodeUnits, wireValue } from "./models.ts";

const text = z.optional(z.string());
const count = z.optional(z.number().check(z.positive()));
const words = z.optional(z.array(z.string()));

/** A model of a lock file. A fact that it did not state when it was locked is absent. */
const LockedModel = z.object({
  catalog: z.enum(catalogNames),
  id: z.string(),
  quantization: text,
  context_length: count,
  max_output_length: count,
  /** As on the wire. */
  pricing: z.optional(z.record(z.string(), z.string())),
  input_modalities: words,
  output_modalities: words,
  supported_features: words,
  supported_sampling_parameters: words,
  /** The country code of each data center, once. */
  countries: words,
  deprecation_date: text,
});
export type LockedModel = z.infer<typeof LockedModel>;

/** The facts of a model that can be compared with another time: those of the interface's types. */
export const toLockedModel = (catalog: CatalogName, id: string, model: CatalogModel): LockedModel => ({
  catalog,
  id,
  quantization: typedValue(model.quantization) || undefined,
  context_length: positive(typedValue(model.context_length)),
  max_output_length: positive(typedValue(model.max_output_length)),
  pricing: lockedPrices(model),
  input_modalities: uniqueSorted(typedValue(model.input_modalities)),
  output_modalities: uniqueSorted(typedValue(model.output_modalities)),
  supported_features: uniqueSorted(typedValue(model.supported_features)),
  supported_sampling_parameters: uniqueSorted(typedValue(model.supported_sampling_parameters)),
  countries: uniqueSorted(typedValue(model.datacenters)?.flatMap(({ country_code }) => typedValue(country_code) ?? [])),
  deprecation_date: typedValue(model.deprecation_date) || undefined,
});

/** Assumed: 0 says "not stated", and less means nothing. */
const positive = (number = 0): number | undefined => (number > 0 ? number : undefined);

/** Each word once, in an order that no service chooses; undefined if there is none. */
const uniqueSorted = (list: readonly string[] = []): string[] | undefined =>
  list.length === 0 ? undefined : [...new Set(list)].sort();

const lockedPrices = ({ pricing }: CatalogModel): Record<string, string> | undefined => {
  const others = Object.keys(typedValue(pricing) ?? {}).filter((name) => !namedPrices.has(name));
  const stated = [...priceNames, ...others.sort()].flatMap((name): readonly (readonly [string, string])[] => {
    const value = wireValue(priceAt(pricing, name));
    return typeof value === "string" || typeof value === "number" ? [[name, String(value)]] : [];
  });
  return stated.length === 0 ? undefined : Object.fromEntries(stated);
};

/** Keys and positions that lead from a model to one of its values. */
export type LockPath = readonly (string | number)[];

/** A lock file, read. */
export interface LockFile {
  readonly file: string;
  readonly models: readonly LockedModel[];
  /** Line and column of a fact of the model at a position, both from 1. */
  positionOf(model: number, path: LockPath): { readonly line: number; readonly column: number };
}

/** Raised if an older rollcall would misread what is written. */
const lockVersion = 1;

/** The key that distinguishes a lock file from any other JSON. */
const lockKey = "rollcall_lock";

/** Reads a lock file; undefined if it does not exist. @throws Failure `lock-unreadable`, `invalid-lock` */
export const readLock = (file: string): LockFile | undefined => {
  const bytes = readLockBytes(file);
  return bytes && parseLock(file, bytes);
};

/** The lock in the bytes of a file. @throws Failure `invalid-lock` */
export const parseLock = (file: string, bytes: Buffer): LockFile => {
  const broken = (wrong: LockFault, at: number, path: LockPath = []): Failure =>
    invalidLock({ file, fault: wrong, field: path.join("."), ...locateOffset(bytes, at) });
  const startOf = (...path: LockPath): number => findSpan(bytes, path)?.start ?? 0;
  const value = parseJson(bytes.toString("utf8"))?.value;
  if (value === undefined) throw broken("no-json", requireFault(bytes).at);
  const version = getMember(value, lockKey);
  if (version === undefined) throw broken("no-lock", startOf());
  if (version !== lockVersion) throw broken("newer", startOf(lockKey), [lockKey]);
  const [list, listSpan] = [getMember(value, "models"), findSpan(bytes, ["models"])];
  if (!Array.isArray(list) || listSpan === undefined) throw broken("type", listSpan?.start ?? startOf(), ["models"]);
  // Found once: a lock file may have every model that exists.
  const spans = listElementSpans(bytes, listSpan);
  const factAt = (model: number, path: LockPath): number => {
    const { start, end } = spans[model] ?? listSpan;
    return start + (findSpan(bytes.subarray(start, end), path)?.start ?? 0);
  };
  const models = list.map((model: unknown, at) => {
    const { data, error } = LockedModel.safeParse(model);
    if (data !== undefined) return data;
    const key = String(error.issues[0]?.path[0]);
    const path = getMember(model, key) === undefined ? [] : [key];
    throw broken("type", factAt(at, path), ["models", at, ...path]);
  });
  return { file, models, positionOf: (model, path) => locateOffset(bytes, factAt(model, path)) };
};

const readLockBytes = (file: string): Buffer | undefined => {
  try {
    // Devices and pipes have no end, or are emptied by reading. Reading a folder says what is wrong.
    const facts = statSync(file);
    if (facts.isFile() || facts.isDirectory()) return readFileSync(file);
  } catch (thrown) {
    const code = getErrorCode(thrown);
    if (code === "ENOENT") return undefined;
    throw lockUnreadable({ file, code, cause: thrown });
  }
  throw lockUnreadable({ file, code: "not a file" });
};

/**
 * Writes a lock file, and returns false if it has that text already. `clean` escapes what a service could hide in JSON.
 * @throws Failure `lock-not-overwritten` if the file is not a lock file, `lock-unwritable`
 */
export const writeLock = (file: string, models: readonly LockedModel[], clean: (json: string) => string): boolean => {
  const written = clean(formatLock(models));
  const before = readLockBytes(file)?.toString("utf8");
  if (before === written) return false;
  if (before !== undefined && before.trim() !== "" && getMember(parseJson(before)?.value, lockKey) === undefined) {
    throw lockNotOverwritten(file);
  }
  try {
    writeFileAtomically(file, [written], before === undefined ? 0o666 : statSync(file).mode & 0o777);
  } catch (thrown) {
    throw lockUnwritable({ file, code: getErrorCode(thrown), cause: thrown });
  }
  return true;
};

/** The text of a lock file: models by catalog and id. */
export const formatLock = (models: readonly LockedModel[]): string => {
  const positionOfCatalog = ({ catalog }: LockedModel): number => catalogNames.indexOf(catalog);
  const sorted = models.toSorted((a, b) => positionOfCatalog(a) - positionOfCatalog(b) || compareCodeUnits(a.id, b.id));
  const entries = sorted.map((model) => `    ${formatObject(model, "    ")}`).join(",\n");
  const list = entries === "" ? "" : `\n${entries}\n  `;
  return `{\n  "${lockKey}": ${lockVersion},\n  "models": [${list}]\n}\n`;
};

/** An object with a line for each member. Lists are on one line. */
const formatObject = (value: object, indent: string): string => {
  const textIn = (member: unknown): string => {
    if (Array.isArray(member)) return `[${member.map(visibleJson).join(", ")}]`;
    return typeof member === "object" && member !== null ? formatObject(member, `${indent}  `) : visibleJson(member);
  };
  const lines = Object.entries(value).flatMap(([key, member]) =>
    member === undefined ? [] : [`${indent}  ${visibleJson(key)}: ${textIn(member)}`],
  );
  return `{\n${lines.join(",\n")}\n${indent}}`;
};

/** JSON with only visible characters: people review lock files, and the text of a catalog is not theirs. */
const visibleJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    hiddenCharacters,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** Control characters that JSON leaves as they are, and those that turn the direction of text or show nothing. */
const hiddenCharacters = /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
