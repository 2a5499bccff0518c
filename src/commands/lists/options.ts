/** The options that commands with lists have in common, and the kinds of their values: times, ages, tokens. */
import {
  choice,
  count,
  custom,
  flag,
  type Kind,
  list,
  text,
  type Values,
  withExtra,
  wrongValue,
} from "../../cli/index.ts";
import { compareDecimals, type Decimal, parseDecimal } from "../../decimal.ts";

const dayMs = 86_400_000;

const unitMs = new Map(Object.entries({ s: 1000, m: 60_000, h: 3_600_000, d: dayMs, w: 7 * dayMs }));

/** Milliseconds of `30m` or `7d`; undefined for anything else. */
export const parseDurationMs = (value: string): number | undefined => {
  const [, digits = "", unit = ""] = /^(\d{1,6})([smhdw])$/.exec(value) ?? [];
  const factor = unitMs.get(unit);
  return factor === undefined ? undefined : Number(digits) * factor;
};

/** An age such as `7d`, in milliseconds. */
export const durationOption = (about: string): Kind<number | undefined> =>
  custom(about, "duration", (word, option) => {
    const ms = parseDurationMs(word);
    if (ms === undefined) throw wrongValue(option, word, "a duration such as 30m, 12h or 7d");
    return ms;
  });

/** A time as people type it: milliseconds since 1970, for the time of now. */
export type RelativeTime = (now: number) => number;

/** `30d` ago, the start of `yesterday` or `today`, or an ISO 8601 date; days begin at midnight, UTC. */
const parseTime = (word: string, option: string): RelativeTime => {
  const ms = parseDurationMs(word);
  if (ms !== undefined) return (now) => now - ms;
  const daysAgo = ["today", "yesterday"].indexOf(word);
  if (daysAgo >= 0) return (now) => Math.floor(now / dayMs - daysAgo) * dayMs;
  const date = /^\d{4}-\d{2}-\d{2}/.test(word) ? Date.parse(word) : Number.NaN;
  if (!Number.isNaN(date)) return () => date;
  throw wrongValue(option, word, "an age such as 12h or 30d, yesterday, or a date such as 2026-01-31");
};

/** A time. */
export const timeOption = (about: string, value = "time"): Kind<RelativeTime | undefined> =>
  custom(about, value, parseTime);

/** A time from now on: an age is in the future. */
const parseDeadline = (word: string, option: string): RelativeTime => {
  const ms = parseDurationMs(word);
  return ms === undefined ? parseTime(word, option) : (now) => now + ms;
};

/** Thousands and millions, as people write them. */
const factors = new Map(Object.entries({ "": 1, k: 1000, m: 1_000_000 }));

/** A number of tokens, such as `128k`. */
export const tokenCountOption = (about: string, value = "n"): Kind<number | undefined> =>
  custom(about, value, (word, option) => {
    const [, digits = "", unit = ""] = /^(\d{1,12})([km]?)$/i.exec(word) ?? [];
    const factor = digits === "" ? undefined : factors.get(unit.toLowerCase());
    if (factor === undefined) throw wrongValue(option, word, "a number of tokens, such as 131072, 128k or 1M");
    return Number(digits) * factor;
  });

/** Words of a catalog; undefined if there are none. */
const wordsOption = (about: string, value = "name"): Kind<readonly string[] | undefined> => {
  const kind = list(about, value);
  const read = (typed: readonly string[], option: string) => {
    const all = kind.parse(typed, option);
    if (all.includes("")) throw wrongValue(option, all.join(","), "a word, or several with commas between them");
    return all.length === 0 ? undefined : all;
  };
  return { ...kind, parse: read };
};

/** Maximum prices by their names. The least of each counts, because all must hold. */
const pricesOption = (about: string): Kind<Readonly<Record<string, string>> | undefined> => {
  const kind = list(about, "prices");
  const read = (typed: readonly string[], option: string) => {
    const most = new Map<string, { readonly amount: string; readonly price: Decimal }>();
    for (const one of kind.parse(typed, option)) {
      const [, name = "", amount = ""] = /^([^=]+)=(.+)$/.exec(one) ?? [];
      const price = parseDecimal(amount);
      if (price === undefined || price.digits < 0n) throw wrongValue(option, one, pricesWanted);
      const before = most.get(name);
      if (before === undefined || compareDecimals(price, before.price) < 0) most.set(name, { amount, price });
    }
    return most.size === 0 ? undefined : Object.fromEntries(Array.from(most, ([name, { amount }]) => [name, amount]));
  };
  return { ...kind, parse: read };
};

const pricesWanted =
  "the names of prices and the most they may be, such as prompt=0.5,completion=2: US dollars per million tokens, image and request each";

/** The options that pick models. */
export const filterOptions = withExtra(
  { group: "filters" },
  {
    "input-modality": wordsOption("takes it: text, image, audio, …; several: all of them"),
    "output-modality": wordsOption("gives it; several: all of them"),
    feature: wordsOption("has it, such as tools; several: all of them"),
    parameter: wordsOption("takes this sampling parameter; several: all of them"),
    quantization: wordsOption("runs in it, such as fp8; several: one of them"),
    country: wordsOption("has a data centre there, such as FI or EU; several: in one of them", "code"),
    "only-country": wordsOption("has all its data centres there; several: in one of them", "code"),
    "min-context": tokenCountOption("has room for so many, such as 128k", "tokens"),
    "min-output": tokenCountOption("gives up to so many", "tokens"),
    "max-price": pricesOption("costs at most, in the table's units: prompt=0.5,completion=2"),
    free: flag("costs nothing"),
    deprecated: flag("its deprecation date has come"),
    "not-deprecated": flag("it has not, or none is set"),
    "deprecated-within": custom(
      "it has come, or comes within such a time: 30d, or by a date",
      "duration",
      parseDeadline,
    ),
    "created-since": timeOption("came since then: a date, or an age such as 90d", "when"),
  },
);

export const limitOption = count("only the first of them", { wanted: "a whole number from 1 on" });

/** The order of a list, and its end. */
export const orderOptions = withExtra(
  { group: "order" },
  { sort: list("by a column, then by others; -column for descending", "columns"), limit: limitOption },
);

/** Where catalogs come from. */
export const sourceOptions = {
  "max-age": durationOption("use a copy no older than this, such as 1h"),
  offline: flag("use the copy, however old, and ask nobody"),
};

export const catalogOption = choice("only that catalog", ["analysis", "router"]);

export const patternArgument = text("words of the id or name, or a glob over the id such as 'qwen*'");

export type TypedFilter = Values<typeof filterOptions>;
export type TypedOrder = Values<typeof orderOptions>;
export type TypedSource = Values<typeof sourceOptions>;
