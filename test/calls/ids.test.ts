import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseCallIds, parseReference } from "../../src/calls/parse-ids.ts";

async function* chunked(text: string | Uint8Array, size: number): AsyncGenerator<Uint8Array, void> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const collected = async <Value>(values: AsyncIterable<Value>): Promise<readonly Value[]> => {
  const all: Value[] = [];
  for await (const value of values) all.push(value);
  return all;
};

const idsIn = async (text: string | Uint8Array, size = 64): Promise<readonly string[]> =>
  (await collected(parseCallIds(chunked(text, size)))).map((reference) => reference.id);

/** A valid id, which has no white space at its ends and is not the start of JSON. */
const id = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9:._ -]{0,40}[A-Za-z0-9]$/);

describe("reading call ids from lines", () => {
  it("finds equal ids in every form of a line, for any chunks", async () => {
    const spelled = fc.tuple(id, fc.integer({ min: 0, max: 4 }), fc.string()).map(([own, form, rest]) => {
      const field = rest.replaceAll(/[\n\r]/g, " ");
      const line = [own, `${own}\t${field}`, JSON.stringify(own), JSON.stringify({ rest, id: own }), `  ${own}\r`][
        form
      ];
      return { own, line: line ?? "" };
    });
    await fc.assert(
      fc.asyncProperty(fc.array(spelled, { minLength: 1 }), fc.integer({ min: 1, max: 40 }), async (lines, size) => {
        expect(await idsIn(lines.map(({ line }) => line).join("\n"), size)).toEqual(lines.map(({ own }) => own));
      }),
      { numRuns: 50 },
    );
  });

  it("finds the ids in rollcall's own output of calls", async () => {
    expect(await idsIn('{"call":{"id":"a","output":{"id":"no"}}}\n{"calls":[{"id":"b"},{"id":"c"}]}\n')).toEqual([
      "a",
      "b",
      "c",
    ]);
  });

  it.each([
    ["weave:///team/project/call/a", "a"],
    ["https://x.example/team/project/calls/a/?b=1#c", "a"],
    ["https://x.example/calls/root?peekPath=%2Fcalls%2Fa", "a"],
    ["https://x.example/calls/root?descendentCallId=a", "a"],
    ["https://x.example/traces?peekPath=%2Fcalls%2Froot%3FdescendentCallId%3Da", "a"],
    ["https://x.example/traces", undefined],
  ])("finds the id of the call that a page shows: %s", (url, shown) => {
    expect(parseReference(url)?.id).toBe(shown);
  });

  it("finds the project in a reference, but not in the URL of a page", () => {
    const projectOf = (text: string) => parseReference(text)?.project;
    expect(projectOf("weave:///other/proj2/call/a")).toBe("other/proj2");
    expect(["a", "https://x.example/team/project/call/a"].map(projectOf)).toEqual([undefined, undefined]);
  });

  it.each(['["a","b"]', "a,b", '"a", "b"\n', '[\n  "a",\n  "b"\n]', '["a"]\tx\n["b",]'])(
    "finds the ids in a list: %j",
    async (text) => {
      expect(await idsIn(text)).toEqual(["a", "b"]);
    },
  );

  it("ignores spaces around ids, in quotes, and on empty lines, and takes a quote inside as a part of an id", async () => {
    expect(await idsIn('a\n \t\n" b "\t1\n {"id":"c"} ', 7)).toEqual(["a", "b", "c"]);
    expect(await idsIn('"a\\q"\n" "\n"7"\n""\n  a"b')).toEqual(["a\\q", "7", 'a"b']);
    expect(await idsIn("é😀\nü", 1)).toEqual(["é😀", "ü"]);
  });

  it("finds an id at the end of a line of 5 MB", async () => {
    const line = JSON.stringify({ output: "x".repeat(5_000_000), id: "far" });
    expect(await idsIn(`${line}\nnear`, 65_536)).toEqual(["far", "near"]);
  });

  it("accepts 1,024 letters, and only UTF-8", async () => {
    expect(await idsIn(`${"x".repeat(1024)}\n{"call":{"id":" a "}}`)).toEqual(["x".repeat(1024), "a"]);
    await expect(idsIn(Buffer.from([0x61, 0xff]))).rejects.toThrow(
      "line 1 of standard input is not a call id: it is not UTF-8",
    );
    await expect(idsIn("\n")).rejects.toMatchObject({ kind: "call-ids-missing" });
  });

  it.each([
    ["an object without an id", '{"name":"x"}', "an object without an id"],
    ["an id that is not text", '{"id":7}', "an object without an id"],
    ["an id that is empty", '{"id":" "}', "an object without an id"],
    ["a list without ids", '{"calls":[{"id":"a"},{}]}', "an object without an id"],
    ["a URL without an id", "https://x.example/traces", "a URL that does not end with /call/<id>"],
    ["half an object", '{"id":"a"', "broken JSON"],
    ["a first field that is too long", `${"x".repeat(2000)}\ta`, "too long"],
    ["a line without an end", "x".repeat(100_000), "too long"],
  ])("fails with the line number after %s", async (_, line, why) => {
    await expect(idsIn(`ok\n\n${line}`)).rejects.toMatchObject({
      kind: "invalid-call-id",
      message: expect.stringMatching(new RegExp(`^line 3 of standard input is not a call id: it is ${why}$`)),
    });
  });
});
