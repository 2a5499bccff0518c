import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findValue } from "../../../src/json/raw-json.ts";
import { listRouterModels, type ModelEntry, readCall } from "../../../src/wire/contract/reads.ts";
import { itHolds } from "../../support/property.ts";

/** The value that JSON.parse reads. */
const parsedAtOnce = (text: string): { readonly value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
};

const read = (text: string) => listRouterModels.reply(Buffer.from(text));

const listOf = (text: string) => {
  const found = read(text);
  if (found === undefined || !("value" in found)) throw new Error(text);
  return found.value;
};

const entriesOf = (text: string): readonly ModelEntry[] => listOf(text).entries;
const valuesOf = (text: string): readonly unknown[] => entriesOf(text).map(({ value }) => value);

/** JSON texts with a list, and similar texts. */
const documents = fc
  .tuple(fc.array(fc.jsonValue({ maxDepth: 3 })), fc.jsonValue({ maxDepth: 2 }), fc.constantFrom("", " ", "\n\t"))
  .map(([list, other, blank]) => {
    const entries = list.map((one) => JSON.stringify(one)).join(`${blank},${blank}`);
    return `${blank}{"object":${JSON.stringify(other)},${blank}"data"${blank}:[${blank}${entries}${blank}]${blank},"data ":1}${blank}`;
  });

/** Values of any type for a field. */
const anything = fc.oneof(
  fc.constantFrom("text", 7, null, true, 1e-7, ""),
  fc.array(fc.constantFrom("text", "image", 7, null)),
  fc.jsonValue({ maxDepth: 2 }),
);

/** Entries with other fields, and with the fields of the interface, which can have any type. */
const entry = fc.record(
  {
    id: fc.oneof(fc.string(), anything),
    created: fc.oneof(fc.integer(), anything),
    input_modalities: anything,
    pricing: fc.oneof(fc.dictionary(fc.constantFrom("prompt", "image", "own"), anything), anything),
    datacenters: fc.oneof(fc.array(fc.record({ country_code: anything }, { requiredKeys: [] })), anything),
    own: anything,
  },
  { requiredKeys: [] },
);

describe("a reply with a list", () => {
  const damage = fc.record({
    at: fc.nat(),
    taken: fc.nat({ max: 2 }),
    put: fc.constantFrom(...["", "", ",", "]", "}", "[", "{", '"', "\\", "0", " ", "e", "\u0000", "é"]),
  });
  itHolds(
    "can be read exactly if JSON.parse takes it, with any character missing, added or changed",
    fc.property(documents, damage, (text, { at, taken, put }) => {
      const start = at % (text.length + 1);
      const damaged = text.slice(0, start) + put + text.slice(start + taken);
      expect(read(damaged) === undefined).toBe(parsedAtOnce(damaged) === undefined);
    }),
    { quick: 40, slow: 500 },
  );

  itHolds(
    "has the entries that JSON.parse finds, each as if it were alone",
    fc.property(fc.array(entry), fc.constantFrom("", "\r\n "), (list, blank) => {
      const text = `{"data":[${blank}${list.map((one) => JSON.stringify(one)).join(`${blank},`)}]}`;
      const found = entriesOf(text);
      const parsed: readonly unknown[] = list.map((one) => JSON.parse(JSON.stringify(one)));
      const alone = list.flatMap((one) => valuesOf(JSON.stringify({ data: [one] })));
      expect(found.map(({ value }) => value)).toEqual(alone);
      expect(found.map(({ raw }) => JSON.parse(raw.json))).toEqual(parsed);
    }),
    { quick: 6, slow: 40 },
  );

  it.each([
    ['{"data":[{},1]}', "data.1"],
    ['{"data":[{},null,"a"]}', "data.2"],
    ['{"data":[[]]}', "data.0"],
    ['{"data":{}}', "data"],
    ["{}", "data"],
    ["[]", ""],
  ])("names the path of another shape (row %$)", (text, invalidPath) => {
    expect(read(text)).toEqual({ invalidPath });
  });

  it("omits entries that are null, and counts them", () => {
    expect(listOf('{"data":[{"id":"a"},null,{"id":"b"},null]}')).toMatchObject({
      nullCount: 2,
      entries: [
        { value: { id: "a" }, position: 0 },
        { value: { id: "b" }, position: 2 },
      ],
    });
  });

  it.each([
    ["0.00000012345678901234567891", "0.00000012345678901234567891"],
    ["12345678901234567891", "12345678901234567891"],
    ["9007199254740993", "9007199254740993"],
    ["1e400", Number.POSITIVE_INFINITY],
    ["1E-50", 1e-50],
    ["1700000000.1234567", 1700000000.1234567],
    ["100000000000000000000", 1e20],
    ["2.50e-07", 2.5e-7],
  ])("has the number %s as a text if a double would round it and its exponent is small", (number, value) => {
    expect(valuesOf(`{"data":[{"id":"12345678901234567891 1e400","n":${number}}]}`)).toEqual([
      { id: "12345678901234567891 1e400", n: value },
    ]);
  });

  it("has the entries of the last list if its key is repeated", () => {
    expect(valuesOf('{"data":[{"id":"a"}],"data":[{"id":"b"}]}')).toEqual([{ id: "b" }]);
  });
});

describe("a reply without entries, or with an error", () => {
  const faults = ['{"code":1}', '"busy"', "true", "0"];
  const none = ["null", '""', "false"];
  const read = (text: string) => {
    const found = listRouterModels.reply(Buffer.from(text));
    return found && "value" in found ? [found.value.entries.length, found.value.partialMark] : found;
  };
  it("is an empty list, unless it states an error", () => {
    for (const data of ["null", "[]"]) {
      for (const error of none) expect(read(`{"data":${data},"error":${error}}`)).toEqual([0, undefined]);
      for (const error of faults) expect(read(`{"data":${data},"error":${error}}`)).toEqual({ invalidPath: "data" });
    }
    for (const error of none) expect(read(`{"error":${error},"data":[{}]}`)).toEqual([1, undefined]);
    for (const error of faults) expect(read(`{"error":${error},"data":[{}]}`)).toEqual([1, "error"]);
    expect([read("1"), read("[1"), read("")]).toEqual([{ invalidPath: "" }, undefined, undefined]);
  });

  it("is no call, unless it states an error", () => {
    const read = (text: string) => {
      const found = readCall.reply(Buffer.from(text));
      return found && "value" in found ? (findValue(found.value, "call")?.json ?? null) : found;
    };
    for (const error of none) expect(read(`{"call":null,"error":${error}}`)).toBeNull();
    for (const error of faults) expect(read(`{"call":null,"error":${error}}`)).toEqual({ invalidPath: "call" });
    expect(read('{"call": {"a":[1.50]} ,"error":"x"}')).toBe('{"a":[1.50]}');
    expect(read('{"call":{"a":NaN,"b":[-Infinity]}}')).toBe('{"a":"NaN","b":["-Infinity"]}');
    expect([read("{}"), read('{"call":[]}'), read('{"call":"x"}')]).toEqual([
      ...[{ invalidPath: "call" }, { invalidPath: "call" }, { invalidPath: "call" }],
    ]);
    expect([read("[]"), read('{"call":{}'), read("nope")]).toEqual([{ invalidPath: "" }, undefined, undefined]);
  });
});
