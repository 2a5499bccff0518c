import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deprecationDay } from "../../src/catalogs/fields.ts";
import { servedHere } from "../commands/catalog/catalogs.ts";
import { itHolds } from "../support/property.ts";
import { entries } from "./models.ts";

/** The reply to each kind of request. */
const replies = { analysis: "", router: "", models: "" };
const served = servedHere();

/** Runs a command line in this process, without a home folder, on 2025-11-01. Returns standard output. */
const run = async (words: readonly string[]): Promise<string> => {
  const answer = (path: string) =>
    path.includes("analysis") ? replies.analysis : path.includes("router") ? replies.router : replies.models;
  const { code, stdout } = await served(words, { answer, damaged: true });
  expect({ words, code }).toEqual({ words, code: 0 });
  return stdout;
};

type Entry = Readonly<Record<string, unknown>>;

/** An entry as JSON, with numbers in spellings that JavaScript does not print. */
const spelledOf = (entry: Entry): string =>
  JSON.stringify(entry).replaceAll(":8000", ":8.000e3").replaceAll(":0,", ":0.0,");

const catalogOf = (list: readonly Entry[]): string => `{"data":[${list.map(spelledOf).join(" ,\n")}],"next":null}`;

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

const listOf = (value: unknown): readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === "string") ? value : [];

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;

/** A price as a whole number of 10^-60 dollars; undefined if it is not a price. */
const priceOf = (entry: Entry, name: string): bigint | undefined => {
  const value = Array.isArray(entry.pricing) ? undefined : memberOf(entry.pricing, name);
  const text = typeof value === "number" ? String(value) : textOf(value).trim();
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
  if (match === null || Math.abs(Number(match[4] ?? 0)) > 40) return undefined;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match;
  const digits = BigInt(sign + whole + fraction);
  return digits < 0n ? undefined : digits * 10n ** BigInt(60 - fraction.length + Number(exponent));
};

/** Country codes of all data centers; empty if the list is not valid. */
const codesOf = (entry: Entry): readonly (string | undefined)[] =>
  Array.isArray(entry.datacenters) &&
  entry.datacenters.every((one) => typeof one === "object" && one !== null && !Array.isArray(one))
    ? entry.datacenters.map((one) => textOf(memberOf(one, "country_code")) || undefined)
    : [];

interface FilterCase {
  readonly words: readonly string[];
  readonly holds: (entry: Entry) => boolean;
}

const choice = (words: string, holds: (entry: Entry) => boolean): FilterCase => ({ words: words.split(" "), holds });

/** A number is a time since 2000 in seconds. Other numbers are no date. */
const deprecatedOn = ({ deprecation_date: date }: Entry): string => {
  if (typeof date === "number" && date >= 946_684_800 && date < 253_402_300_800)
    return new Date(date * 1000).toISOString().slice(0, 10);
  return /^\d{4}-/.test(textOf(date)) ? textOf(date) : "none";
};

const noDeprecation = ({ deprecation_date: date }: Entry): boolean =>
  date === undefined || date === null || date === "" || date === false;

/** The limit is unknown if its exponent is absurd. */
const isLimit = (value: unknown): value is number =>
  typeof value === "number" && value > 0 && !/e[+-]?(4[1-9]|[5-9]\d|\d{3})$/.test(String(value));

/** Filters with an independent implementation. */
const choices: readonly FilterCase[] = [
  choice("--input-modality image", (entry) => listOf(entry.input_modalities).includes("image")),
  choice("--output-modality text", (entry) => listOf(entry.output_modalities).includes("text")),
  choice("--feature tools --feature reasoning", (entry) => {
    return ["tools", "reasoning"].every((one) => listOf(entry.supported_features).includes(one));
  }),
  choice("--parameter seed", (entry) => listOf(entry.supported_sampling_parameters).includes("seed")),
  choice("--quantization int4,fp8", (entry) => ["int4", "fp8"].includes(textOf(entry.quantization))),
  choice("--country FI --country US", (entry) => codesOf(entry).some((code) => code === "FI" || code === "US")),
  choice("--only-country EU", (entry) => {
    return codesOf(entry).length > 0 && codesOf(entry).every((code) => code === "FI" || code === "DE");
  }),
  choice("--min-context 100k", ({ context_length: tokens }) => isLimit(tokens) && tokens >= 100_000),
  choice("--min-output 0", ({ max_output_length: most }) => isLimit(most)),
  choice("--max-price prompt=0.1", (entry) => (priceOf(entry, "prompt") ?? 10n ** 60n) <= 10n ** 53n),
  choice("--max-price image=0.0005", (entry) => (priceOf(entry, "image") ?? 10n ** 60n) <= 5n * 10n ** 56n),
  choice("--free", (entry) => {
    const others = Object.entries(entry.pricing ?? {}).filter(([, price]) => price !== null);
    const isPriced = typeof entry.pricing === "object" && !Array.isArray(entry.pricing);
    const named = ["prompt", "completion"].every((name) => priceOf(entry, name) === 0n);
    return isPriced && named && others.every(([name]) => priceOf(entry, name) === 0n);
  }),
  choice("--deprecated", (entry) => deprecatedOn(entry) <= "2025-11-01"),
  choice(
    "--not-deprecated",
    (entry) => noDeprecation(entry) || (deprecatedOn(entry) > "2025-11-01" && deprecatedOn(entry) < "none"),
  ),
  choice("--deprecated-within 365d", (entry) => deprecatedOn(entry) <= "2026-11-01"),
  choice("--deprecated-within 2026-12-01", (entry) => deprecatedOn(entry) <= "2026-12-01"),
  choice("a/", (entry) => [entry.id, entry.name].some((text) => textOf(text).toLowerCase().includes("a/"))),
  choice("?/t*", (entry) => /^.\/t/su.test(textOf(entry.id).toLowerCase())),
];

/** Up to three filters with different options, and at most one pattern. */
const filter = fc.subarray([...choices], { maxLength: 3 }).filter((all) => {
  const names = all.map(({ words }) => (words[0]?.startsWith("--") ? words[0].replace("--not-", "--") : "pattern"));
  return new Set(names).size === names.length;
});

/** The sort key of a value. Numbers come before words, and absent values last. */
const rankOf = (value: unknown, isNumber: boolean, isPrice = false): readonly [number, number | string] => {
  if (value === undefined || value === null || value === "") return [2, 0];
  const number = typeof value === "number" ? value : isNumber && /^\d/.test(textOf(value)) ? Number(value) : Number.NaN;
  if (!Number.isNaN(number) && (!isPrice || number >= 0)) return [0, number];
  const text = Array.isArray(value)
    ? value.join(";")
    : typeof value === "object"
      ? JSON.stringify(value)
      : String(value);
  return text === "" ? [2, 0] : [1, text.toLowerCase()];
};

const sorts: Readonly<Record<string, (entry: Entry) => readonly [number, number | string]>> = {
  id: ({ id }) => rankOf(id, false),
  context_length: ({ context_length: tokens }) => rankOf(tokens, true),
  "pricing.prompt": ({ pricing }) =>
    rankOf(Array.isArray(pricing) ? undefined : memberOf(pricing, "prompt"), true, true),
};

const order = fc.subarray(["id", "-context_length", "pricing.prompt"], { maxLength: 3 });

const mayPrecede = (one: Entry, other: Entry, by: readonly string[]): boolean => {
  for (const key of by) {
    const rank = sorts[key.replace("-", "")];
    if (rank === undefined) throw new Error(key);
    const [[kind, value], [otherKind, otherValue]] = [rank(one), rank(other)];
    if (kind !== otherKind) return kind < otherKind;
    if (value !== otherValue) return key.startsWith("-") ? value > otherValue : value < otherValue;
  }
  return true;
};

const parsed = (text: string): Entry => JSON.parse(text);

it("a model ends on the first of its dates", () => {
  const [deprecation_date, expiration_date] = ["2026-02-01", "2026-01-01"];
  expect(deprecationDay({ deprecation_date, expiration_date })).toBe(expiration_date);
  expect(deprecationDay({ deprecation_date: expiration_date, expiration_date: deprecation_date })).toBe(
    expiration_date,
  );
});

describe("rollcall catalog", () => {
  itHolds(
    "prints exactly the entries that match, sorted, in each form",
    fc.asyncProperty(
      entries,
      filter,
      order,
      fc.option(fc.integer({ min: 1, max: 4 })),
      async (list, filters, by, limit) => {
        replies.router = catalogOf(list);
        const asked = [
          ...["catalog", "router", ...filters.flatMap(({ words }) => words)],
          ...(by.length === 0 ? [] : [`--sort=${by.join(",")}`]),
        ];
        const meant = list.filter((entry) => filters.every(({ holds }) => holds(entry))).map(spelledOf);
        const lines = (await run([...asked, "-o", "jsonl"])).split("\n").slice(0, -1);
        expect(lines.toSorted()).toEqual(meant.toSorted());
        if (by.length === 0) expect(lines).toEqual(meant);
        for (const [at, line] of lines.slice(1).entries()) {
          expect(mayPrecede(parsed(lines[at] ?? "{}"), parsed(line), by)).toBe(true);
        }
        const cut = limit === null ? lines : lines.slice(0, limit);
        const limited = [...asked, ...(limit === null ? [] : ["--limit", String(limit)])];
        expect(await run([...limited, "--json"])).toBe(`{"data":[${cut.join(",")}],"next":null}\n`);
        for (const form of ["tsv", "csv", "table"]) {
          const rows = (await run([...limited, "-o", form, "--fields", "id"]))
            .split(/\r?\n/)
            .slice(form === "tsv" ? 0 : 1, -1);
          expect(rows).toHaveLength(cut.length);
          for (const [at, row] of rows.entries()) {
            const { id } = parsed(cut[at] ?? "{}");
            if (typeof id === "string" && /^\w\/\w+$/.test(id)) expect(row).toBe(id);
            if (id === undefined || id === null) expect(row).toBe("");
          }
        }
      },
    ),
    { quick: 2, slow: 25 },
  );

  const models = fc.array(fc.record({ id: fc.constantFrom("a/one", "b/three", "x/none") }), { maxLength: 3 });

  itHolds(
    "lists both catalogs together, and joins them with the models",
    fc.asyncProperty(entries, entries, models, filter, async (analysis, router, callable, filters) => {
      replies.analysis = catalogOf(analysis);
      replies.router = catalogOf(router);
      replies.models = JSON.stringify({ object: "list", data: callable });
      const words = filters.flatMap((one) => one.words);
      const listed = [
        ...analysis.map((entry) => ({ catalog: "analysis", entry })),
        ...router.map((entry) => ({ catalog: "router", entry })),
      ];
      const holds = (entry: Entry) => filters.every((one) => one.holds(entry));
      const catalogs = '{"catalogs":["analysis","router"],"data":[';
      const all = listed
        .filter(({ entry }) => holds(entry))
        .map(({ catalog, entry }) => `{"catalog":"${catalog}","entry":${spelledOf(entry)}}`);
      expect(await run(["catalog", "all", ...words, "--json"])).toBe(`${catalogs}${all.join(",")}]}\n`);
      const named = filters.every(({ words: [first = ""] }) => first === "--not-deprecated" || !first.startsWith("--"));
      const joined = callable.flatMap((model) => {
        const own = listed.filter(({ entry }) => entry.id === model.id);
        if (own.length === 0) {
          return named && holds(model) ? [`{"model":${JSON.stringify(model)},"catalog":null,"entry":null}`] : [];
        }
        return own
          .filter(({ entry }) => holds(entry))
          .map(
            ({ catalog, entry }) =>
              `{"model":${JSON.stringify(model)},"catalog":"${catalog}","entry":${spelledOf(entry)}}`,
          );
      });
      expect(await run(["models", "--with-prices", ...words, "--json"])).toBe(`${catalogs}${joined.join(",")}]}\n`);
    }),
    { quick: 2, slow: 25 },
  );
});
