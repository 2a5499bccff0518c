import { expect, it } from "vitest";
import { Scanner } from "../../../src/rollouts/dataset/scan.ts";
import { ScanResult } from "../../../src/rollouts/index/scan-result.ts";
import { blockBytes } from "../../../src/rollouts/input/frames.ts";
import { Problems } from "../../../src/rollouts/rules/problems.ts";

it.each([
  ["long", { rule: "text-too-long", line: 2, column: 1 }],
  ["document", { rule: "text-too-long" }],
] as const)(
  "a %s text over the limit of a string is one unreadable part, of which at most a block is read",
  async (kind, problem) => {
    const size = 2 ** 29;
    let length = 0;
    const read = (into: Buffer) => {
      length += into.length;
      return into.fill("1").length;
    };
    const bytes = { size, read, close: async () => undefined };
    const result = new ScanResult(new Problems());
    const scanner = new Scanner({ name: "a", bytes }, { index: 0, groupBy: undefined, result });
    scanner.scanLines({ kind: "lines", bytes: Buffer.from("\n"), start: 0, isLast: false });
    await scanner.scanFrame({ kind, start: 1, end: size, isLast: true });
    scanner.scanLines({ kind: "lines", bytes: Buffer.from("7"), start: size, isLast: true });
    expect(result.problems.sorted()).toMatchObject([problem, { rule: "not-an-object", line: 3 }]);
    expect(length).toBeLessThanOrEqual(blockBytes);
    const parts = [0, 1].map((at) => result.parts.at(at));
    expect(parts).toMatchObject([
      { kind: "unreadable", valid: false, start: 1, length: 0, line: 2 },
      { start: size, length: 1, line: 3 },
    ]);
  },
);

it("a signal ends the scan of a block of short lines", async () => {
  const lines = 2 ** 17;
  const result = new ScanResult(new Problems());
  const bytes = Buffer.from("{}\n".repeat(lines));
  const source = { name: "a", bytes: { size: bytes.length, read: () => 0, close: async () => undefined } };
  const abort = new AbortController();
  setImmediate(() => abort.abort());
  const scanner = new Scanner(source, { index: 0, groupBy: undefined, result, signal: abort.signal });
  await expect(scanner.scanFrame({ kind: "lines", bytes, start: 0, isLast: true })).rejects.toThrow("aborted");
  expect(result.parts.count).toBeLessThan(2 ** 13);
});
