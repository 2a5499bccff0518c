import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Catalog, CatalogModel } from "../../src/contract/catalog.ts";
import { readDocument } from "../../src/contract/entries.ts";
import { Mistyped } from "../../src/contract/fields.ts";
import { itHolds } from "../support/property.ts";

/** The value that JSON.parse reads. */
const parsedAtOnce = (text: string): { readonly value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
};

const read = (text: string) => readDocument(Buffer.from(text), "data");

const entriesOf = (text: string) => Catalog.safeParse(read(text)?.value);

/** Texts that are JSON with a list, or nearly. */
const documents = fc
  .tuple(fc.array(fc.jsonValue({ maxDepth: 3 })), fc.jsonValue({ maxDepth: 2 }), fc.constantFrom("", " ", "\n\t"))
  .map(([list, other, blank]) => {
    const entries = list.map((one) => JSON.stringify(one)).join(`${blank},${blank}`);
    return `${blank}{"object":${JSON.stringify(other)},${blank}"data"${blank}:[${blank}${entries}${blank}]${blank},"data ":1}${blank}`;
  });

/** Values that a field may have, of its type or not. */
const anything = fc.oneof(
  fc.constantFrom("text", 7, null, true, 1e-7, ""),
  fc.array(fc.constantFrom("text", "image", 7, null)),
  fc.jsonValue({ maxDepth: 2 }),
);

/** Entries with the fields of the interface, each of its type or not, and other fields. */
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
    { quick: 100, slow: 1500 },
  );

  itHolds(
    "has the entries that JSON.parse finds, one by one or in order",
    fc.property(fc.array(entry), fc.constantFrom("", "\r\n "), (list, blank) => {
      const text = `{"data":[${blank}${list.map((one) => JSON.stringify(one)).join(`${blank},`)}]}`;
      const found = entriesOf(text);
      const checked = list.map((one) => CatalogModel.parse(JSON.parse(JSON.stringify(one))));
      expect([...(found.data?.data ?? [])]).toEqual(checked);
      expect([...(Catalog.parse(parsedAtOnce(text)?.value).data ?? [])]).toEqual(checked);
      expect(list.map((_, at) => found.data?.data.at(at))).toEqual(checked);
      expect(found.data?.data.at(list.length)).toBeUndefined();
    }),
    { quick: 10, slow: 100 },
  );

  it("keeps a value of another type as it came", () => {
    const found = entriesOf('{"data":[{"id":7,"created":1,"pricing":{"prompt":null,"completion":1e-7}}]}').data?.data;
    expect(found?.at(0)).toEqual({
      id: new Mistyped(7),
      created: 1,
      pricing: { prompt: null, completion: new Mistyped(1e-7) },
    });
  });

  it.each([
    ['{"data":[{},1]}', ["data", 1]],
    ['{"data":[{},{},"a"]}', ["data", 2]],
    ['{"data":[[]]}', ["data", 0]],
    ['{"data":{}}', ["data"]],
    ["{}", ["data"]],
    ["[]", []],
  ])("names the path of another shape in %s", (text, path) => {
    expect(entriesOf(text).error?.issues[0]?.path).toEqual(path);
    expect(Catalog.safeParse(parsedAtOnce(text)?.value).error?.issues[0]?.path).toEqual(path);
  });

  it("omits entries that are null, and counts them", () => {
    const found = entriesOf('{"data":[{"id":"a"},null,{"id":"b"},null]}').data?.data;
    expect([...(found ?? [])].map(({ id }) => id)).toEqual(["a", "b"]);
    expect(found?.nulls).toBe(2);
  });

  it("has the entries of the last list if its key is repeated", () => {
    expect([...(entriesOf('{"data":[{"id":"a"}],"data":[{"id":"b"}]}').data?.data ?? [])]).toEqual([{ id: "b" }]);
  });
});
