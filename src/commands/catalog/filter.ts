/** The models that the options of a filter mean, and what is said about their words. */
import {
  type Filter,
  matcherOf,
  mistypedFields,
  optionOf,
  type UnknownWord,
  unknownWord,
  wordFilters,
} from "../../catalogs/index.ts";
import { contradiction, wrongValue } from "../../cli/index.ts";
import type { CatalogModel } from "../../contract/catalog.ts";
import type { Entries } from "../../contract/fields.ts";
import { counted } from "../../counted.ts";
import { openMistypings } from "../lists/mistyped.ts";
import type { TypedFilter } from "../lists/options.ts";

/** The last day that is written with four digits of its year. */
const lastDay = Date.UTC(9999, 11, 31);

/** What was meant. @throws Failure `options-contradict` */
export const filterOf = (
  typed: TypedFilter & { readonly pattern?: string | undefined },
  { now }: { readonly now: number },
): Filter => {
  if (typed.deprecated && typed.notDeprecated)
    throw contradiction("--deprecated", "--not-deprecated", "a model's deprecation date has come, or it has not");
  const { inputModality, outputModality, feature, parameter, quantization, country, onlyCountry } = typed;
  const { pattern, minContext, minOutput, maxPrice } = typed;
  const [end, since] = [typed.deprecatedWithin?.(now), typed.createdSince?.(now)];
  return {
    ...{ pattern, inputModality, outputModality, feature, parameter, quantization, country, onlyCountry },
    ...{ minContext, minOutput, maxPrice },
    free: typed.free || undefined,
    deprecated: typed.deprecated ? true : typed.notDeprecated ? false : undefined,
    deprecatedWithin: end === undefined ? undefined : new Date(Math.min(end, lastDay)).toISOString().slice(0, 10),
    createdSince: since === undefined ? undefined : since / 1000,
  };
};

/** Words that are named in one sentence at most. */
const maxWords = 8;

/** Refuses words that are neither known nor in a model. @throws Failure `option-value-wrong` */
export const requireWords = (filter: Filter, models: Entries<CatalogModel>): void => {
  const unknown = unknownWord(filter, models);
  if (unknown === undefined) return;
  const { field, word, near } = unknown;
  const suggestion = near === undefined ? undefined : countedWord(near);
  throw wrongValue(optionOf(field), word, instead(unknown), suggestion);
};

const instead = ({ field, occurring }: UnknownWord): string => {
  if (occurring.length === 0) return `such words as ${wordFilters[field].known.slice(0, maxWords).join(", ")}`;
  const more = occurring.length > maxWords ? ` and ${occurring.length - maxWords} more` : "";
  return `what occurs: ${occurring.slice(0, maxWords).map(countedWord).join(", ")}${more}`;
};

const countedWord = ({ word, count }: { readonly word: string; readonly count: number }): string =>
  count === 0 ? word : `${word} (${counted(count, "model")})`;

/** Opens the gathering of mistyped fields of a catalog, among the models that the pattern means. */
export const openMistyped = ({ pattern }: Filter) =>
  openMistypings({
    fieldsOf: mistypedFields,
    isMeant: matcherOf({ pattern }, { now: 0 }),
    what: "shown as it came and matched by no filter",
  });
