/** Reads and writes lock files. Equal facts produce equal bytes. */
import { statSync } from "node:fs";
import * as z from "zod/mini";
import { type ServiceObject, toText } from "../contract/replies.ts";
import { getErrorCode, readRegularFile, writeFileAtomically } from "../files.ts";
import { getValue, newline, parseJson } from "../json/json-bytes.ts";
import { requireFault } from "../json/reader.ts";
import { elementsOf, findDeepest, memberAt, parseValue, readRoot, spanOf } from "../json/table.ts";
import { catalogNames } from "./catalog-files.ts";
import { invalidLock, lockNotOverwritten, lockUnreadable, lockUnwritable } from "./failures.ts";
import { compareTexts, listDatacenters, listEntryTerms, listStatedPrices, priceNames, toStatedFact } from "./fields.ts";
import type { CatalogEntry } from "./rows.ts";

const text = z.optional(z.string());
const count = z.optional(z.number().check(z.positive()));
const conditions = z.union([z.array(z.unknown()), z.record(z.string(), z.unknown())]);
const texts = z.optional(z.array(z.string()));

const LockedModel = z.object({
  catalog: z.enum(catalogNames),
  id: z.string(),
  quantization: text,
  context_length: count,
  max_output_length: count,
  pricing: z.optional(z.record(z.string(), z.union([z.string(), conditions]))),
  input_modalities: texts,
  output_modalities: texts,
  supported_features: texts,
  supported_sampling_parameters: texts,
  countries: texts,
  deprecation_date: text,
});
export type LockedModel = z.infer<typeof LockedModel>;

/** Omits facts of a wrong type. */
export const toLockedModel = ({ catalog, entry }: Pick<CatalogEntry, "catalog" | "entry">) => {
  const countries = listDatacenters(entry.datacenters)?.flatMap(({ country_code: code }) => toText(code) ?? []);
  const facts: ServiceObject = { ...entry, catalog, countries, pricing: toLockedPrices(entry) };
  const stated = Object.entries(LockedModel.shape).map(([name, schema]) => {
    return [name, schema.safeParse(toStatedFact(facts[name])).data];
  });
  return LockedModel.safeParse(Object.fromEntries(stated)).data;
};

/** Conditions of prices, such as `overrides`, stay as they are. */
const toLockedPrices = (entry: ServiceObject) => {
  const prices = new Map([...listEntryTerms(entry), ...listStatedPrices(entry.pricing)]);
  const stated = [...new Set([...priceNames, ...[...prices.keys()].sort()])].flatMap((name) => {
    const value = prices.get(name) ?? null;
    return value === null ? [] : [[name, typeof value === "object" ? value : String(value)] as const];
  });
  return stated.length === 0 ? undefined : Object.fromEntries(stated);
};

export type LockPath = readonly (string | number)[];
export type LockFile = NonNullable<ReturnType<typeof readLock>>;

const lockVersion = 1;
const lockKey = "rollcall_lock";

/** @throws Failure `lock-unreadable`, `invalid-lock` */
export const readLock = (file: string) => {
  const bytes = readLockBytes(file);
  if (!bytes) return undefined;
  const locate = createLocator(file, bytes);
  const root = readRoot(bytes);
  if (!root) throw invalidLock("it is not JSON", locate(requireFault(bytes).at));
  const elements = elementsOf(memberAt(root, "models"));
  const positionOf = ([key = "", at = 0, ...rest]: LockPath) => {
    const element = key === "models" ? elements[Number(at)] : undefined;
    return locate(spanOf(findDeepest(element ?? root, element ? rest : [key])).start);
  };
  const value = parseValue(root);
  const version = getValue(value, [lockKey]);
  if (version !== lockVersion) {
    const reason = version === undefined ? "it is not a lock file" : "a newer rollcall wrote it";
    throw invalidLock(reason, positionOf([lockKey]));
  }
  const { data, error } = z.object({ models: z.array(LockedModel) }).safeParse(value);
  if (data) return { file, models: data.models, positionOf };
  const path = error.issues[0]?.path.filter((step) => typeof step !== "symbol") ?? [];
  const defect = getValue(value, path) === undefined ? "missing" : "invalid value of";
  throw invalidLock(`${defect} \`${path.join(".")}\``, positionOf(path));
};

/** Searches the line ends once, because each of 30,000 models can have a difference. */
const createLocator = (file: string, bytes: Buffer) => {
  const starts = [0];
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) starts.push(at + 1);
  return (offset: number) => {
    let [low, high] = [0, starts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return { file, line: low + 1, column: bytes.toString("utf8", starts[low], offset).length + 1 };
  };
};

const readLockBytes = (file: string) => {
  try {
    return readRegularFile(file);
  } catch (thrown) {
    const code = getErrorCode(thrown);
    if (code === "ENOENT") return undefined;
    throw lockUnreadable({ file, code, cause: thrown });
  }
};

/** `clean` escapes invisible characters. */
export const writeLock = (file: string, models: readonly LockedModel[], clean: (json: string) => string) => {
  const written = clean(formatLock(models));
  const before = readLockBytes(file)?.toString("utf8");
  if (before === written) return false;
  if (before !== undefined && before.trim() !== "" && getValue(parseJson(before)?.value, [lockKey]) === undefined) {
    throw lockNotOverwritten(file);
  }
  try {
    writeFileAtomically(file, [written], before === undefined ? 0o666 : statSync(file).mode & 0o777);
  } catch (thrown) {
    throw lockUnwritable({ file, code: getErrorCode(thrown), cause: thrown });
  }
  return true;
};

const formatLock = (models: readonly LockedModel[]) => {
  const sorted = models.toSorted((a, b) => compareTexts(a.catalog, b.catalog) || compareTexts(a.id, b.id));
  const json = JSON.stringify({ [lockKey]: lockVersion, models: sorted }, undefined, 2);
  const compact = json.replace(/\[\s+("[^[\]{}]*")\s+\]/g, (_, list: string) => `[${list.replace(/\n\s*/g, " ")}]`);
  return `${compact}\n`;
};
