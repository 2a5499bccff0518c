import { describe, expect, it } from "vitest";
import { formatList } from "../../src/text/sentences.ts";

describe("formatList", () => {
  it("prints ten items, and counts all further items", () => {
    const items = Array.from({ length: 12 }, (_, at) => `${at}`);
    expect(formatList(items.slice(0, 10))).toBe("0, 1, 2, 3, 4, 5, 6, 7, 8, 9");
    expect(formatList(items)).toBe("0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more");
  });
});
