import { describe, expect, it } from "vitest";
import { openRecords } from "../../../src/rollouts/input/records.ts";
import { openMemoryBytes } from "../../../src/rollouts/input/source.ts";

const open = async (text: string, signal = new AbortController().signal) =>
  await openRecords(
    { name: "rows.jsonl", bytes: openMemoryBytes(Buffer.from(text)) },
    { records: { text: "lines" } },
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
    const records = await open("\n".repeat(2 ** 22), abort.signal);
    const reading = (async () => {
      for await (const _ of records.batches()) setImmediate(() => abort.abort(new Error("stop")));
    })();
    await expect(reading).rejects.toThrow("stop");
  });
});
