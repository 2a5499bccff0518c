import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Failure } from "../../../src/failure.ts";
import { testHost } from "../../support/host.ts";
import { filesOf, hasZstd, read, readFailure } from "../../support/inputs.ts";

/** Two frames with a group each. The second frame has a checksum. */
const two = readFileSync("test/rollouts/input/two-groups.jsonl.zst");
const firstFrame = two.subarray(0, two.indexOf(two.subarray(0, 4), 4));
const secondFrame = two.subarray(firstFrame.length);
/** A skippable frame, and a frame of empty data. */
const nothing = Buffer.from("502a4d18030000006162632".concat("8b52ffd2000010000"), "hex");

const problemsOf = async (bytes: Uint8Array) => {
  const thrown = await readFailure(filesOf(bytes));
  if (!(thrown instanceof Failure)) return [];
  return (thrown.details.problems ?? []).map(({ rule, message, advice }) => ({ rule, message, advice }));
};

describe.skipIf(!hasZstd)("a zstd file (skipped if Node has no zstd)", () => {
  it.each([
    ["several frames", two],
    ["empty frames between others", Buffer.concat([nothing, firstFrame, nothing, secondFrame, nothing])],
    ["padding", Buffer.concat([two, Buffer.alloc(512)])],
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
    ["if its checksum is wrong", Buffer.concat([two.subarray(0, -1), Buffer.from([0x11])]), "is corrupt"],
  ])("is corrupt %s", async (_, bytes, says) => {
    const [problem] = await problemsOf(bytes);
    expect([problem?.rule, problem?.message.includes(says)]).toEqual(["zstd-corrupt", true]);
  });
});

describe.skipIf(hasZstd)("a zstd file without zstd in Node (skipped if Node has zstd)", () => {
  it("is reported with the command that decompresses it", async () => {
    const [problem] = await problemsOf(two);
    expect(problem?.rule).toBe("zstd-unsupported");
    expect(problem?.advice).toMatch(/zstd -d (\S+1\.jsonl) && rm \1$/);
  });
});
