import { crc32 } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { joined, withByte } from "../../src/trajectories/read/parts/checksums.ts";

describe("the checksum of what is put together", () => {
  it("is that of all bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), fc.uint8Array({ maxLength: 300 }), (first, second) => {
        const whole = crc32(Buffer.concat([first, second])) | 0;
        expect(joined(crc32(first) | 0, crc32(second) | 0, second.length)).toBe(whole);
        expect(second.reduce(withByte, crc32(first) | 0)).toBe(whole);
      }),
      { numRuns: 500 },
    );
  });

  it("is that of all bytes, however many there are", () => {
    const first = Buffer.from("first");
    for (const length of [2 ** 16 - 1, 2 ** 18, 2 ** 24 + 12_345]) {
      const second = Buffer.alloc(length, "second");
      const whole = crc32(second, crc32(first)) | 0;
      expect(joined(crc32(first) | 0, crc32(second) | 0, length)).toBe(whole);
    }
  });
});
