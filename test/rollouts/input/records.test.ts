import { describe, expect, it } from "vitest";
import { openRecords } from "../../../src/rollouts/input/records.ts";
import {
  documentTooLong,
  maxDocumentBytes,
  openMemoryBytes,
  type RawRecord,
} from "../../../src/rollouts/input/source.ts";

const open = async (
  text: string,
  {
    kind = "lines",
    signal = new AbortController().signal,
  }: { kind?: "lines" | "documents"; signal?: AbortSignal } = {},
) =>
  await openRecords(
    { name: "rows.jsonl", bytes: openMemoryBytes(Buffer.from(text)) },
    { text: kind },
    { maxUnpackedBytes: 2 ** 30, signal },
  );

describe("the records of lines", () => {
  // With quadratic time, each of these files would take minutes.
  it.each([
    ["newlines", "\n"],
    ["lines of white space", " \t\r\n"],
  ])("are read in linear time before, between and after half a million %s", async (_, blank) => {
    const gap = blank.repeat(2 ** 19);
    const records = await open(`${gap}{"a":1}\r\n${gap}  {"a":2} ${gap}`);
    const found: unknown[] = [];
    for await (const batch of records.batches()) {
      for (const { bytes, line, start } of batch) found.push([bytes.toString(), line, start]);
    }
    expect(found).toEqual([
      ['{"a":1}', 2 ** 19 + 1, gap.length],
      ['{"a":2}', 2 ** 20 + 2, 2 * gap.length + 11],
    ]);
  });

  it("end with the reason of a signal, also if a file has only blank lines", async () => {
    const abort = new AbortController();
    const records = await open("\n".repeat(2 ** 22), { signal: abort.signal });
    const reading = (async () => {
      for await (const _ of records.batches()) setImmediate(() => abort.abort(new Error("stop")));
    })();
    await expect(reading).rejects.toThrow("stop");
  });
});

const [record, list] = ['{"id":1}', '[{"id":1},\n{"id":2}]'];

it.each<[text: string, records: string]>([
  [record, `1 ${record}`],
  [`\ufeff${record}\n\n`, `1 ${record}\n\n`],
  ['{\n"id": 1\n}\n', '1 {\n"id": 1\n}\n'],
  [`${record}\n\n \n${record}\n`, `1 ${record} | 4 ${record}`],
  [`${record}\nnot JSON\n${record}\n`, `1 ${record}\nnot JSON\n${record}\n`],
  [`\n${record}\nx\n`, `1 \n${record}\nx\n`],
  [list, '1 {"id":1} | 2 {"id":2}'],
  [`\n ${list} `, '2 {"id":1} | 3 {"id":2}'],
  ["[1, 2]", "1 [1, 2]"],
])("a file of documents is a document, lines of documents or an array of documents (row %$)", async (text, is) => {
  const { batches, isList, reread, locate } = await open(text, { kind: "documents" });
  const found: string[] = [];
  for await (const batch of batches()) for (const { line, bytes } of batch) found.push(`${line} ${bytes}`);
  expect([found.join(" | "), isList]).toEqual([is, is.includes(" | ")]);
  for (const [at, one] of found.entries()) expect(`${locate(at).line} ${(await reread(at))?.bytes}`).toBe(one);
});

const text = '{"a":"é"}';
it.each<[text: string, records: string]>([
  [`${text}\n\n ${text} \n`, `1:0 ${text} | 3:13 ${text}`],
  [`[${text},${text}]`, `1:1#0 ${text} | 1:12#1 ${text}`],
  [`\n[\n${text}, ${text},\n${text}]`, `3:3 ${text} | 3:15 ${text} | 4:27 ${text}`],
  [`[${text}, {'b': 1} ,${text}]\n`, `1:1#0 ${text} | 1:13#1 {'b': 1} | 1:23#2 ${text}`],
  [`[${text}][${text}]`, `1:1#0 ${text} | 1:13#0 ${text}`],
  [`[${text}] x`, `1:1#0 ${text} | 1:13 fault`],
  [`[${text},\n`, `1:1#0 ${text} | 2:13 fault`],
  [`[${text},\n]\n`, `1:1#0 ${text}`],
  ["[ ]", "1:0 [ ]"],
  ["[1,2]", "1:0 [1,2]"],
  ['{\n"a":1}\n', '1:0 {\n"a":1} whole'],
])(
  "records of lines and arrays have their line, byte and element, also if they are read again (row %$)",
  async (...row) => {
    const [text, expected] = row;
    const records = await open(text);
    const found: RawRecord[] = [];
    const show = ({ line, start, element, bytes, fault, isDocument }: RawRecord) => {
      const number = element === undefined ? "" : `#${element}`;
      return `${line}:${start}${number} ${fault ? "fault" : bytes}${isDocument ? " whole" : ""}`;
    };
    for (const _ of [1, 2]) {
      found.length = 0;
      for await (const batch of records.batches())
        for (const record of batch) found.push({ ...record, bytes: Buffer.from(record.bytes) });
      expect(found.map(show).join(" | ")).toBe(expected);
    }
    for (const [at, { isDocument: _, ...record }] of found.entries()) {
      expect(await records.reread(at)).toMatchObject(record);
      expect([record.label, record.within, records.locate(at).line]).toEqual(["rows.jsonl", records.text, record.line]);
      expect(records.readNow?.(at)).toEqual(record.bytes);
    }
    expect([records.readNow?.(found.length), await records.reread(found.length)]).toEqual([undefined, undefined]);
  },
);

it("documents on lines can be longer than a read, and a document over the limit is unreadable", async () => {
  const lines = [`{"a":"${"x".repeat(2 ** 20)}"}`, record];
  const { isList, batches } = await open(lines.join("\n"), { kind: "documents" });
  const found: number[] = [];
  for await (const batch of batches()) for (const { bytes } of batch) found.push(bytes.length);
  expect([isList, found]).toEqual([true, lines.map(({ length }) => length)]);
  const huge = { ...openMemoryBytes(Buffer.from(record)), size: maxDocumentBytes + 1 };
  const limits = { maxUnpackedBytes: 2 ** 30, signal: new AbortController().signal };
  const long = await openRecords({ name: "a", bytes: huge }, { text: "document" }, limits);
  for await (const batch of long.batches())
    expect([...batch]).toMatchObject([{ fault: documentTooLong, start: 0, line: 1, label: "a" }]);
});
