import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Failure } from "../../../src/failure.ts";
import { testHost } from "../../support/host.ts";
import { filesOf, hasZstd, read, refusal } from "../inputs.ts";

/** Two groups, a frame each; the second frame has a checksum. */
const two = readFileSync("test/trajectories/input/two-groups.jsonl.zst");
const firstFrame = two.subarray(0, two.indexOf(two.subarray(0, 4), 4));
const secondFrame = two.subarray(firstFrame.length);
/** A frame that holds no data, and one of data that is empty. */
const nothing = Buffer.from("502a4d18030000006162632".concat("8b52ffd2000010000"), "hex");

const problemsOf = async (bytes: Uint8Array) => {
  const thrown = await refusal(filesOf(bytes));
  if (!(thrown instanceof Failure)) return [];
  return (thrown.about.problems ?? []).map(({ rule, message, advice }) => ({ rule, message, advice }));
};

describe.skipIf(!hasZstd)("zstd (skipped where Node has none)", () => {
  it.each([
    ["frames", two],
    ["frames that hold nothing beside others", Buffer.concat([nothing, firstFrame, nothing, secondFrame, nothing])],
    ["padding", Buffer.concat([two, Buffer.alloc(512)])],
  ])("is unpacked: %s", async (_, bytes) => {
    const reading = await read(filesOf(bytes));
    expect(reading.problems.errors).toBe(0);
    expect(reading.found.tally.metrics()).toMatchObject({ reward: 0.875, "data/step_num_scenarios": 2 });
  });

  it("comes on standard input too", async () => {
    expect((await read(["-"], { host: testHost({ stdin: two }) })).groups.count).toBe(2);
  });

  it.each([
    ["in its first frame's head", two.subarray(0, 5), "ends before"],
    ["in the data of a frame", two.subarray(0, firstFrame.length - 1), "ends before"],
    ["before its checksum", two.subarray(0, -2), "ends before"],
    ["by other bytes", Buffer.concat([two, Buffer.from("more")]), "other bytes follow"],
    ["by other bytes behind padding", Buffer.concat([two, Buffer.from("\0\0\0\0\0more")]), "other bytes follow"],
    ["in its checksum", Buffer.concat([two.subarray(0, -1), Buffer.from([0x11])]), "is damaged"],
  ])("is broken %s", async (_, bytes, says) => {
    const [problem] = await problemsOf(bytes);
    expect([problem?.rule, problem?.message.includes(says)]).toEqual(["zstd-broken", true]);
  });
});

describe.skipIf(hasZstd)("zstd where Node has none (skipped where it has)", () => {
  it("says how to unpack it", async () => {
    const [problem] = await problemsOf(two);
    expect(problem?.rule).toBe("zstd-unsupported");
    expect(problem?.advice).toMatch(/zstd -dc \S+1\.jsonl \| rollcall log …/);
  });
});
