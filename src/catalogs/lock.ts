/** Lock files: the facts of models at one time, each on its own line, so that the same facts are the same text. */
import { readFileSync, statSync } from "node:fs";
import * as z from "zod/mini";
import type { CatalogModel } from "../contract/catalog.ts";
import { known } from "../contract/replies.ts";
import type { Failure } from "../failure.ts";
import { codeOf, writeWhole } from "../files.ts";
import { faultOf } from "../json/reader.ts";
import { elementSpans, memberOf, parsedJson, positionOf, spanAt } from "../json/walk.ts";
import { type LockFault, lockBroken, lockForeign, lockUnreadable, lockUnwritable } from "./failures.ts";
import { namedPrices, priceAt, priceNames } from "./fields.ts";
import { byCodeUnit, plainValue } from "./models.ts";
import { type CatalogName, catalogNames } from "./saved.ts";

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
export const lockedOf = (catalog: CatalogName, id: string, model: CatalogModel): LockedModel => ({
  catalog,
  id,
  quantization: known(model.quantization) || undefined,
  context_length: positive(known(model.context_length)),
  max_output_length: positive(known(model.max_output_length)),
  pricing: pricesOf(model),
  input_modalities: sortedWords(known(model.input_modalities)),
  output_modalities: sortedWords(known(model.output_modalities)),
  supported_features: sortedWords(known(model.supported_features)),
  supported_sampling_parameters: sortedWords(known(model.supported_sampling_parameters)),
  countries: sortedWords(known(model.datacenters)?.flatMap(({ country_code }) => known(country_code) ?? [])),
  deprecation_date: known(model.deprecation_date) || undefined,
});

/** Assumed: 0 says "not stated", and less means nothing. */
const positive = (number = 0): number | undefined => (number > 0 ? number : undefined);

/** Each word once, in an order that no service chooses; undefined if there is none. */
const sortedWords = (list: readonly string[] = []): string[] | undefined =>
  list.length === 0 ? undefined : [...new Set(list)].sort();

const pricesOf = ({ pricing }: CatalogModel): Record<string, string> | undefined => {
  const others = Object.keys(known(pricing) ?? {}).filter((name) => !namedPrices.has(name));
  const stated = [...priceNames, ...others.sort()].flatMap((name): readonly (readonly [string, string])[] => {
    const value = plainValue(priceAt(pricing, name));
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

/** Reads a lock file; undefined if it does not exist. @throws Failure `lock-unreadable`, `lock-broken` */
export const readLock = (file: string): LockFile | undefined => {
  const bytes = bytesOf(file);
  return bytes && lockIn(file, bytes);
};

/** The lock in the bytes of a file. @throws Failure `lock-broken` */
export const lockIn = (file: string, bytes: Buffer): LockFile => {
  const broken = (wrong: LockFault, at: number, path: LockPath = []): Failure =>
    lockBroken({ file, wrong, field: path.join("."), ...positionOf(bytes, at) });
  const startOf = (...path: LockPath): number => spanAt(bytes, path)?.start ?? 0;
  const value = parsedJson(bytes.toString("utf8"))?.value;
  if (value === undefined) throw broken("no-json", faultOf(bytes).at);
  const version = memberOf(value, lockKey);
  if (version === undefined) throw broken("no-lock", startOf());
  if (version !== lockVersion) throw broken("newer", startOf(lockKey), [lockKey]);
  const [list, listSpan] = [memberOf(value, "models"), spanAt(bytes, ["models"])];
  if (!Array.isArray(list) || listSpan === undefined) throw broken("type", listSpan?.start ?? startOf(), ["models"]);
  // Found once: a lock file may have every model that exists.
  const spans = elementSpans(bytes, listSpan);
  const factAt = (model: number, path: LockPath): number => {
    const { start, end } = spans[model] ?? listSpan;
    return start + (spanAt(bytes.subarray(start, end), path)?.start ?? 0);
  };
  const models = list.map((model: unknown, at) => {
    const { data, error } = LockedModel.safeParse(model);
    if (data !== undefined) return data;
    const key = String(error.issues[0]?.path[0]);
    const path = memberOf(model, key) === undefined ? [] : [key];
    throw broken("type", factAt(at, path), ["models", at, ...path]);
  });
  return { file, models, positionOf: (model, path) => positionOf(bytes, factAt(model, path)) };
};

const bytesOf = (file: string): Buffer | undefined => {
  try {
    // Devices and pipes have no end, or are emptied by reading. Reading a folder says what is wrong.
    const facts = statSync(file);
    if (facts.isFile() || facts.isDirectory()) return readFileSync(file);
  } catch (thrown) {
    const code = codeOf(thrown);
    if (code === "ENOENT") return undefined;
    throw lockUnreadable({ file, code, cause: thrown });
  }
  throw lockUnreadable({ file, code: "not a file" });
};

/**
 * Writes a lock file, and returns false if it has that text already. `clean` escapes what a service could hide in JSON.
 * @throws Failure `lock-foreign` if the file is not a lock file, `lock-unwritable`
 */
export const writeLock = (file: string, models: readonly LockedModel[], clean: (json: string) => string): boolean => {
  const written = clean(lockText(models));
  const before = bytesOf(file)?.toString("utf8");
  if (before === written) return false;
  if (before !== undefined && before.trim() !== "" && memberOf(parsedJson(before)?.value, lockKey) === undefined) {
    throw lockForeign(file);
  }
  try {
    writeWhole(file, [written], before === undefined ? 0o666 : statSync(file).mode & 0o777);
  } catch (thrown) {
    throw lockUnwritable({ file, code: codeOf(thrown), cause: thrown });
  }
  return true;
};

/** The text of a lock file: models by catalog and id. */
export const lockText = (models: readonly LockedModel[]): string => {
  const positionOfCatalog = ({ catalog }: LockedModel): number => catalogNames.indexOf(catalog);
  const sorted = models.toSorted((a, b) => positionOfCatalog(a) - positionOfCatalog(b) || byCodeUnit(a.id, b.id));
  const entries = sorted.map((model) => `    ${objectText(model, "    ")}`).join(",\n");
  const list = entries === "" ? "" : `\n${entries}\n  `;
  return `{\n  "${lockKey}": ${lockVersion},\n  "models": [${list}]\n}\n`;
};

/** An object with a line for each member. Lists are on one line. */
const objectText = (value: object, indent: string): string => {
  const textIn = (member: unknown): string => {
    if (Array.isArray(member)) return `[${member.map(jsonText).join(", ")}]`;
    return typeof member === "object" && member !== null ? objectText(member, `${indent}  `) : jsonText(member);
  };
  const lines = Object.entries(value).flatMap(([key, member]) =>
    member === undefined ? [] : [`${indent}  ${jsonText(key)}: ${textIn(member)}`],
  );
  return `{\n${lines.join(",\n")}\n${indent}}`;
};

/** JSON with only visible characters: people review lock files, and the text of a catalog is not theirs. */
const jsonText = (value: unknown): string =>
  JSON.stringify(value).replace(hidden, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Control characters that JSON leaves as they are, and those that turn the direction of text or show nothing. */
const hidden = /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
