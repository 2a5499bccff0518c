import * as fc from "fast-check";
import { describe, expect } from "vitest";
import { parseRawJson } from "../../src/json/raw-json.ts";
import { servedHere } from "../commands/catalog/catalogs.ts";
import { itHolds } from "../support/property.ts";
import { entries } from "./models.ts";

/** The reply to each request. */
const reply = { router: "" };
const served = servedHere();

/** Runs a command line in this process, without a home folder, on 2025-11-01. Returns standard output. */
const run = async (words: readonly string[]): Promise<string> => {
  const { code, stdout } = await served(words, { answer: () => reply.router });
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

interface FilterCase {
  readonly words: readonly string[];
  readonly holds: (entry: Entry) => boolean;
}

const choice = (words: string, holds: (entry: Entry) => boolean): FilterCase => ({ words: words.split(" "), holds });

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
  choice("--min-context 100k", ({ context_length: tokens }) => isLimit(tokens) && tokens >= 100_000),
  choice("--max-price prompt=0.1", (entry) => (priceOf(entry, "prompt") ?? 10n ** 60n) <= 10n ** 53n),
  choice("--max-price image=0.0005", (entry) => (priceOf(entry, "image") ?? 10n ** 60n) <= 5n * 10n ** 56n),
  choice("a/", (entry) => [entry.id, entry.name].some((text) => textOf(text).toLowerCase().includes("a/"))),
  choice("?/t*", (entry) => /^.\/t/su.test(textOf(entry.id).toLowerCase())),
];

/** Up to three filters with different options, and at most one pattern. */
const filter = fc.subarray([...choices], { maxLength: 3 }).filter((all) => {
  const names = all.map(({ words }) => (words[0]?.startsWith("--") ? words[0] : "pattern"));
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

describe("rollcall catalog", () => {
  itHolds(
    "prints exactly the entries that match, sorted, in each form",
    fc.asyncProperty(
      entries,
      filter,
      order,
      fc.option(fc.integer({ min: 1, max: 4 })),
      async (list, filters, by, limit) => {
        reply.router = catalogOf(list);
        const asked = [
          ...["catalog", "router", ...filters.flatMap(({ words }) => words)],
          ...(by.length === 0 ? [] : [`--sort=${by.join(",")}`]),
        ];
        const meant = list.filter((entry) => filters.every(({ holds }) => holds(entry))).map(spelledOf);
        const lines = parseRawJson(await run([...asked, "--json"])).members.flatMap(({ key, value }) =>
          key === "data" ? value.items.map(({ json }) => json) : [],
        );
        expect(lines.toSorted()).toEqual(meant.toSorted());
        if (by.length === 0) expect(lines).toEqual(meant);
        for (const [at, line] of lines.slice(1).entries()) {
          expect(mayPrecede(parsed(lines[at] ?? "{}"), parsed(line), by)).toBe(true);
        }
        const cut = limit === null ? lines : lines.slice(0, limit);
        const limited = [...asked, ...(limit === null ? [] : ["--limit", String(limit)])];
        expect(await run([...limited, "--json"])).toBe(`{"data":[${cut.join(",")}],"next":null}\n`);
        for (const form of ["tsv", "table"]) {
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
});
