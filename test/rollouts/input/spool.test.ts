import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { expect, it, vi } from "vitest";
import { readHead } from "../../../src/rollouts/input/source.ts";
import { decompressionLimit, openSpool, spoolStream } from "../../../src/rollouts/input/spool.ts";
import { testHost } from "../../support/host.ts";

it.each([
  [1, 2 ** 40, 2 ** 26],
  [10 ** 6, 2 ** 40, 10 ** 9],
  [10 ** 6, 5, 5],
])("%i compressed bytes with a setting of %i can become %i bytes", (compressed, setting, limit) => {
  expect(decompressionLimit(compressed, setting)).toBe(limit);
});

const compressed = gzipSync("abc");
const join = (...parts: readonly (Buffer | string)[]) => Buffer.concat(parts.map((part) => Buffer.from(part)));
it.each<[what: string, bytes: Buffer, text: string]>([
  ["nothing", Buffer.alloc(0), ""],
  ["plain text", Buffer.from("abc"), "abc"],
  ["long JSON", Buffer.from(`[${"1,".repeat(400)}1]`), `[${"1,".repeat(400)}1]`],
  ["gzip", compressed, "abc"],
  ["two gzip members", join(compressed, compressed), "abcabc"],
  ["padded gzip", join(compressed, Buffer.alloc(20)), "abc"],
  ["the head of a format that is not read", join("BZh", "x".repeat(600)), `BZh${"x".repeat(509)}`],
])("the bytes of a stream are stored: %s", async (_, bytes, text) => {
  const chunks = Array.from(bytes, (byte) => Buffer.of(byte));
  const stored = await spoolStream(Readable.from(chunks), { host: testHost(), maxUnpackedBytes: 2 ** 20 });
  expect([`${readHead(stored, 1000)}`, stored.size]).toEqual([text, text.length]);
  await stored.close();
});

it.each<[what: string, bytes: Buffer, fault: object, limit?: number]>([
  ["cut", compressed.subarray(0, -1), { rule: "compressed-corrupt", data: { wrong: "cut" } }],
  [
    "corrupt",
    join(compressed.subarray(0, 10), "xxxxxxxxxxxx"),
    { rule: "compressed-corrupt", data: { wrong: "corrupt" } },
  ],
  [
    "followed by bytes that are not gzip",
    join(compressed, "more"),
    { rule: "compressed-corrupt", data: { wrong: "corrupt" } },
  ],
  [
    "followed by padding and more",
    join(compressed, "\0\0more"),
    { rule: "compressed-corrupt", data: { wrong: "more" } },
  ],
  ["too large", compressed, { rule: "decompressed-too-large", data: { limit: 2, kind: "stream", isSetting: true } }, 2],
])("a gzip stream is refused if it is %s", async (_, bytes, fault, limit = 3) => {
  const spooled = spoolStream(Readable.from([bytes]), { host: testHost(), maxUnpackedBytes: limit });
  await expect(spooled).rejects.toMatchObject(fault);
});

it.each([undefined, "/dev/null/none"])(
  "chunks are stored in a file, or in memory without a folder (%s)",
  async (folder) => {
    if (folder) vi.stubEnv("TMPDIR", folder);
    const spool = await openSpool(testHost());
    vi.unstubAllEnvs();
    const chunk = Buffer.from("ab");
    await spool.write(chunk);
    chunk.fill("c");
    await spool.write(chunk);
    const bytes = spool.bytes();
    expect([bytes.size, `${readHead(bytes, 9)}`]).toEqual([4, "abcc"]);
    await spool.discard();
    await bytes.close();
  },
);
