import { describe, expect, it } from "vitest";
import { formatList, formatRoundedSize } from "../src/sentences.ts";

describe("formatList", () => {
  it("prints ten items, and counts all further items", () => {
    const items = Array.from({ length: 12 }, (_, at) => `${at}`);
    expect(formatList(items.slice(0, 10))).toBe("0, 1, 2, 3, 4, 5, 6, 7, 8, 9");
    expect(formatList(items)).toBe("0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more");
  });
});

describe("formatRoundedSize", () => {
  it.each([
    [1023, "1023 bytes"],
    [1024, "1 KiB"],
    [1.26 * 2 ** 10, "1.3 KiB"],
    [2 ** 20 - 1, "1024 KiB"],
    [2 ** 20, "1 MiB"],
    [2.5 * 2 ** 30, "2560 MiB"],
  ])("formats %d bytes as %s", (bytes, text) => {
    expect(formatRoundedSize(bytes)).toBe(text);
  });
});
