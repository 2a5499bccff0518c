import { appendFileSync, renameSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openTail } from "../../../src/rollouts/input/tail.ts";
import { newFolder } from "../../support/inputs.ts";

/** Checksums are of segments of this size, and the search for a line end reads a quarter of it at once. */
const segmentBytes = 2 ** 18;

const open = async (content: string) => {
  const path = join(newFolder(), "a.jsonl");
  writeFileSync(path, content);
  const tail = await openTail(path, "a");
  onTestFinished(() => tail.source.bytes.close());
  return { path, tail };
};

describe("the tail of a growing file", () => {
  it("has the lines that are complete, however long a line is", async () => {
    const { path, tail } = await open("ab\ncd");
    const look = async () => [await tail.findCompleteEnd(), await tail.countUnfinished(), tail.source.bytes.size];
    expect(await look()).toEqual([3, 5, 0]);
    tail.take(Buffer.from("ab\n"));
    expect([await look(), tail.taken, `${tail.head()}`]).toEqual([[3, 2, 3], 3, "ab\ncd"]);
    appendFileSync(path, "e".repeat(segmentBytes));
    expect(await look()).toEqual([3, 2 + segmentBytes, 3]);
    appendFileSync(path, `\nf\n${"g".repeat(segmentBytes / 2)}`);
    const end = 3 + 2 + segmentBytes + 3;
    expect(await look()).toEqual([end, end - 3 + segmentBytes / 2, 3]);
    await tail.skip(end);
    expect([await look(), tail.taken]).toEqual([[end, segmentBytes / 2, end], end]);
    const read = Buffer.alloc(4);
    expect([tail.source.bytes.read(read, end - 4), `${read}`]).toEqual([4, "e\nf\n"]);
    await expect(tail.skip(10 * segmentBytes)).rejects.toThrow();
    expect(await (await open("\n")).tail.findCompleteEnd()).toBe(1);
  });

  it.each<[at: number, isFound: boolean]>([
    [0, true],
    [segmentBytes - 1, true],
    [segmentBytes, true],
    [3 * segmentBytes - 1, true],
    [3 * segmentBytes, false],
  ])("is rewritten if a taken byte changes, after a look at each segment: %i", async (at, isFound) => {
    const content = Buffer.alloc(3 * segmentBytes + 9, "x");
    const { path, tail } = await open(content.toString());
    // The pieces do not end where segments end.
    await tail.skip(1000);
    await tail.skip(3 * segmentBytes);
    expect([await tail.isRewritten(), await tail.source.touched?.()]).toEqual([false, false]);
    content[at] = 0;
    writeFileSync(path, content);
    let isRewritten = false;
    for (let look = 1; look <= 3; look++) {
      utimesSync(path, look, look);
      isRewritten ||= await tail.isRewritten();
    }
    expect([isRewritten, tail.source.bytes.size === 0]).toEqual([isFound, isFound]);
  });

  it("is rewritten if the file becomes shorter, and moved if its path leads to another file", async () => {
    const { path, tail } = await open("ab\ncd\n");
    await tail.skip(6);
    expect([await tail.isRewritten(), tail.isMoved()]).toEqual([false, false]);
    renameSync(path, `${path}.1`);
    expect(tail.isMoved()).toBe(false);
    writeFileSync(path, "ab\ncd\n");
    expect([await tail.isRewritten(), tail.isMoved()]).toEqual([false, true]);
    truncateSync(`${path}.1`, 5);
    expect([await tail.source.touched?.(), await tail.isRewritten(), tail.source.bytes.size]).toEqual([true, true, 0]);
    expect(await tail.source.touched?.()).toBe(false);
  });
});
