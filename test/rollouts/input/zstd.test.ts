import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Failure } from "../../../src/failure.ts";
import { unzstd } from "../../../src/rollouts/input/zstd.ts";
import { testHost } from "../../support/host.ts";
import { filesOf, read, readFailure } from "../../support/inputs.ts";
import { hasZstd, useZstd } from "../../support/zstd.ts";

/** Two frames with a group each. The second frame has a checksum. */
const two = readFileSync("test/rollouts/input/two-groups.jsonl.zst");
const firstFrame = two.subarray(0, two.indexOf(two.subarray(0, 4), 4));
const secondFrame = two.subarray(firstFrame.length);
const skippable = Buffer.from("502a4d1803000000616263", "hex");
const emptyFrame = Buffer.from("28b52ffd2000010000", "hex");
const spaces = Buffer.from("28b52ffde0080000000000000043000020", "hex");
/** 256 spaces. A size of two bytes is the size minus 256. */
const sizeOf2 = Buffer.from("28b52ffd60000003080020", "hex");
const sizeOf4 = Buffer.from("28b52ffda00001000003080020", "hex");
/** 256 spaces without a size, with a window of 2^10 or 2^28 bytes. */
const withoutSize = Buffer.from("28b52ffd000003080020", "hex");
const wide = Buffer.from("28b52ffd009003080020", "hex");
const nothing = Buffer.concat([skippable, emptyFrame]);

const withByte = (bytes: Buffer, at: number, byte: number) =>
  Buffer.concat([bytes.subarray(0, at), Buffer.from([byte]), bytes.subarray(at + 1)]);

const problemsOf = async (bytes: Uint8Array) => {
  const thrown = await readFailure(filesOf(bytes));
  if (!(thrown instanceof Failure)) return [];
  return (thrown.details.problems ?? []).map(({ rule, message, advice }) => ({ rule, message, advice }));
};

describe("a zstd file", () => {
  useZstd();

  it.each([
    ["several frames", two],
    ["a block that repeats a byte, and a size of 8 bytes", Buffer.concat([firstFrame, spaces, secondFrame])],
    ["sizes of 2 and 4 bytes", Buffer.concat([firstFrame, sizeOf2, sizeOf4, secondFrame])],
    ["empty frames between others", Buffer.concat([nothing, firstFrame, nothing, secondFrame, nothing])],
    ...[1, 3, 4, 512].map((length): [string, Buffer] => [
      `${length} bytes of padding`,
      Buffer.concat([two, Buffer.alloc(length)]),
    ]),
  ])("is decompressed if it has %s", async (_, bytes) => {
    const reading = await read(filesOf(bytes));
    expect(reading.scan.problems.errors).toBe(0);
    expect(reading.scan.tally.metrics()).toMatchObject({ reward: 0.875, "data/step_num_scenarios": 2 });
  });

  it("is read from standard input", async () => {
    expect((await read(["-"], { host: testHost({ stdin: two }) })).groups.count).toBe(2);
  });

  it.each([
    ["if it ends in its first frame header", two.subarray(0, 5), "is truncated"],
    ["if it ends in the data of a frame", two.subarray(0, firstFrame.length - 1), "is truncated"],
    ["if it ends before its checksum", two.subarray(0, -2), "is truncated"],
    ["if other bytes follow", Buffer.concat([two, Buffer.from("more")]), "other bytes follow"],
    ["if other bytes follow padding", Buffer.concat([two, Buffer.from("\0\0\0\0\0more")]), "other bytes follow"],
    [
      "if a block has the reserved type",
      Buffer.concat([emptyFrame.subarray(0, 6), Buffer.from([7, 0, 0])]),
      "is corrupt",
    ],
    ["if a block cannot be decoded", withByte(firstFrame, 9, 0x87), "is corrupt"],
  ])("is corrupt %s", async (_, bytes, says) => {
    const [problem] = await problemsOf(bytes);
    expect([problem?.rule, problem?.message.includes(says)]).toEqual(["compressed-corrupt", true]);
  });

  it.skipIf(!hasZstd)("is corrupt if its checksum is wrong (skipped if Node has no zstd)", async () => {
    const [problem] = await problemsOf(withByte(two, two.length - 1, 0x11));
    expect([problem?.rule, problem?.message]).toEqual(["compressed-corrupt", expect.stringContaining("is corrupt")]);
  });

  it("is corrupt if it ends near the end of a frame", async () => {
    const whole = Buffer.concat([firstFrame, nothing, secondFrame]);
    const ends = [0, skippable.length, nothing.length].map((length) => firstFrame.length + length);
    const near = [-4, -3, -2, -1, 0, 1, 2, 3, 4];
    for (const length of ends.flatMap((end) => near.map((bytes) => end + bytes))) {
      const rules = (await problemsOf(whole.subarray(0, length))).map(({ rule }) => rule);
      expect([length, rules]).toEqual([length, ends.includes(length) ? [] : ["compressed-corrupt"]]);
    }
  });
});

describe("a zstd part of an archive", () => {
  useZstd();

  it.each([
    ["a size of 2 bytes", sizeOf2],
    ["a size of 4 bytes", Buffer.concat([skippable, sizeOf4])],
    ["a window and no size", withoutSize],
  ])("is decompressed if it has %s", (_, bytes) => {
    expect(String(unzstd(bytes, 256))).toBe(" ".repeat(256));
  });

  it.each([
    ["more bytes than declared", sizeOf2, 255, /256 bytes, more than its declared 255/],
    ["more bytes than declared, in two frames", Buffer.concat([sizeOf2, sizeOf2]), 300, /512 bytes, more than/],
    ["more bytes than declared, without a size", withoutSize, 255, /more than its declared 255|larger than 256/],
    ["a window over the limit", wide, 256, /window of 268435456 bytes, over the limit of 134217728/],
  ])("is unreadable with %s", (_, bytes, length, message) => {
    expect(() => unzstd(bytes, length)).toThrow(message);
  });

  it.each([
    ["ends in a frame", sizeOf2.subarray(0, -1), "cut"],
    ["ends in a skippable frame", skippable.subarray(0, -1), "cut"],
    ["has other bytes after a frame", Buffer.concat([sizeOf2, Buffer.from("more")]), "more"],
  ])("is corrupt if it %s", (_, bytes, wrong) => {
    expect(() => unzstd(bytes, 256)).toThrow(
      expect.objectContaining({ rule: "compressed-corrupt", data: { by: "zstd", wrong } }),
    );
  });
});

describe("a zstd file of only skippable frames", () => {
  it.each(["", "00", "0000", "000000", "00000000"])("can end in the bytes %j", async (hex) => {
    const rules = (await problemsOf(Buffer.concat([skippable, Buffer.from(hex, "hex")]))).map(({ rule }) => rule);
    expect(rules).not.toContain("compressed-corrupt");
  });

  it.each("01 28 0001 28b5 000001 28b52f 502a4d 00000001".split(" "))("cannot end in the bytes %s", async (hex) => {
    const [problem] = await problemsOf(Buffer.concat([skippable, Buffer.from(hex, "hex")]));
    expect([problem?.rule, problem?.message]).toEqual([
      "compressed-corrupt",
      expect.stringContaining("other bytes follow"),
    ]);
  });

  it("is truncated if it ends within a frame", async () => {
    for (let length = 4; length < skippable.length; length++) {
      const [problem] = await problemsOf(skippable.subarray(0, length));
      expect([problem?.rule, problem?.message]).toEqual([
        "compressed-corrupt",
        expect.stringContaining("is truncated"),
      ]);
    }
  });
});

describe.skipIf(hasZstd)("a zstd file without zstd in Node (skipped if Node has zstd)", () => {
  it("is reported with the way to decompress it", async () => {
    const [problem] = await problemsOf(two);
    expect(problem?.rule).toBe("not-json");
    expect(problem?.advice).toContain("decompress the file: zstd -d");
  });
});
