/** The facts of a model as a lock file has them, and the file's text: a fact on a line of its own, the same facts the same text. */
import type { CatalogModel } from "../../contract/catalog.ts";
import { known, Mistyped } from "../../contract/fields.ts";
import { type CatalogName, catalogNames } from "../catalog-names.ts";
import { namedPrices, priceAt, priceNames } from "../prices.ts";

/** A model of a lock file. What it did not state when it was locked is absent. */
export interface LockedModel {
  readonly catalog: CatalogName;
  readonly id: string;
  readonly quantization?: string | undefined;
  readonly context_length?: number | undefined;
  readonly max_output_length?: number | undefined;
  /** As on the wire. */
  readonly pricing?: Readonly<Record<string, string>> | undefined;
  readonly input_modalities?: readonly string[] | undefined;
  readonly output_modalities?: readonly string[] | undefined;
  readonly supported_features?: readonly string[] | undefined;
  readonly supported_sampling_parameters?: readonly string[] | undefined;
  /** The country code of each data centre, once. */
  readonly countries?: readonly string[] | undefined;
  readonly deprecation_date?: string | undefined;
}

/** The facts of a model that can be held against another time: those of the interface's types. */
export const lockedOf = (catalog: CatalogName, id: string, model: CatalogModel): LockedModel => {
  return {
    catalog,
    id,
    quantization: known(model.quantization) || undefined,
    context_length: countOf(known(model.context_length)),
    max_output_length: countOf(known(model.max_output_length)),
    pricing: pricesOf(model),
    input_modalities: wordsOf(known(model.input_modalities)),
    output_modalities: wordsOf(known(model.output_modalities)),
    supported_features: wordsOf(known(model.supported_features)),
    supported_sampling_parameters: wordsOf(known(model.supported_sampling_parameters)),
    countries: wordsOf((known(model.datacenters) ?? []).flatMap(({ country_code }) => known(country_code) ?? [])),
    deprecation_date: known(model.deprecation_date) || undefined,
  };
};

/** Assumed: 0 says "not stated"; what is below it says nothing. */
const countOf = (count: number | undefined): number | undefined =>
  count !== undefined && count > 0 ? count : undefined;

/** Each word once, in an order that no service chooses; undefined where there is none. */
const wordsOf = (words: readonly string[] | undefined): readonly string[] | undefined =>
  words === undefined || words.length === 0 ? undefined : [...new Set(words)].sort();

const pricesOf = ({ pricing }: CatalogModel): Readonly<Record<string, string>> | undefined => {
  const own = Object.keys(known(pricing) ?? {}).filter((name) => !namedPrices.has(name));
  const stated = [...priceNames, ...own.sort()].flatMap((name): readonly [string, string][] => {
    const found = priceAt(pricing, name);
    const value = found instanceof Mistyped ? found.value : found;
    if (typeof value === "string") return [[name, value]];
    return typeof value === "number" ? [[name, String(value)]] : [];
  });
  return stated.length === 0 ? undefined : Object.fromEntries(stated);
};

/** Raised where an older rollcall would read what is written wrongly. */
export const lockVersion = 1;

/** What tells a lock file from any other JSON. */
export const lockMark = "rollcall_lock";

/** The text of a lock file: models by catalog and id. */
export const lockText = (models: readonly LockedModel[]): string => {
  const sorted = [...models].sort(byPlace);
  const entries = sorted.map((model) => `    ${objectText(model, "    ")}`).join(",\n");
  return `{\n  "${lockMark}": ${lockVersion},\n  "models": [${entries === "" ? "" : `\n${entries}\n  `}]\n}\n`;
};

const byPlace = (a: LockedModel, b: LockedModel): number =>
  catalogNames.indexOf(a.catalog) - catalogNames.indexOf(b.catalog) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

/** An object with a line for each member; lists stand on one. */
const objectText = (value: object, indent: string): string => {
  const lines = Object.entries(value).flatMap(([key, member]: [string, unknown]) => {
    if (member === undefined) return [];
    const isNested = typeof member === "object" && member !== null && !Array.isArray(member);
    const text = Array.isArray(member)
      ? `[${member.map(jsonText).join(", ")}]`
      : isNested
        ? objectText(member, `${indent}  `)
        : jsonText(member);
    return [`${indent}  ${jsonText(key)}: ${text}`];
  });
  return `{\n${lines.join(",\n")}\n${indent}}`;
};

/** JSON whose letters all show: people review lock files, and a catalog's text is not theirs. */
const jsonText = (value: unknown): string =>
  JSON.stringify(value).replace(hidden, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Control characters that JSON leaves as they are, and those that turn the direction of text or show nothing. */
const hidden = /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
