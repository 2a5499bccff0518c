import { describe, expect, it } from "vitest";
import { readFaults } from "../../../src/wire/contract/validation-error.ts";

const read = (detail: string) => readFaults(Buffer.from(`{"detail":${detail}}`));

describe("readFaults", () => {
  it("reads the first 10,000 faults without their inputs, and counts all", () => {
    const fault = '{"loc":["body",0],"msg":"odd","type":"odd","input":[[{}]],"url":"u"}';
    const { faults, count } = read(`[${`${fault},`.repeat(10_000)}${fault}]`);
    expect([faults.length, count]).toEqual([10_000, 10_001]);
    expect(faults[0]).toEqual({ loc: ["body", 0], msg: "odd", type: "odd" });
  });

  it.each([
    ['"msg":null,"type":"too_long"', { msg: "too_long", type: "too_long" }],
    ['"type":"too_long"', { msg: "too_long", type: "too_long" }],
    ['"msg":"odd","type":null', { msg: "odd", type: "odd" }],
    ['"msg":null', undefined],
    ['"msg":{},"type":"too_long"', undefined],
  ])("reads a fault with either a message or a type: %s", (members, texts) => {
    const { faults } = read(`[{"loc":["body",1],${members}}]`);
    expect(faults).toEqual(texts ? [{ loc: ["body", 1], ...texts }] : []);
  });

  it.each([
    ["numbers", `[${"1,".repeat(3e6)}1]`],
    ["nested arrays", "[".repeat(3e6) + "]".repeat(3e6)],
    ["a fault with a nested input", `[{"loc":[],"input":${"[".repeat(3e6)}${"]".repeat(3e6)}}]`],
    ["a fault with a nested message", `[{"loc":[],"msg":${"[".repeat(3e6)}${"]".repeat(3e6)}}]`],
  ])("reads no fault in %s, in memory of less than 20 times their bytes", (_, detail) => {
    const before = process.resourceUsage().maxRSS;
    expect(read(detail)).toEqual({ faults: [], count: 0 });
    expect((process.resourceUsage().maxRSS - before) * 1024).toBeLessThan(20 * detail.length);
  });
});
