import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { barText } from "../../src/output/index.ts";

const half = { phase: "sending", bytes: 25_000_000, ofBytes: 50_000_000, groups: 4558 };

describe("a bar's line", () => {
  it.each([
    [100, "sending ██████████░░░░░░░░░░ 50% 25.0 MB of 50.0 MB 4558 groups 16.7 MB/s 2 s left"],
    [77, "sending ████████░░░░░░░ 50% 25.0 MB of 50.0 MB 4558 groups 16.7 MB/s 2 s left"],
    [61, "sending 50% 25.0 MB of 50.0 MB 4558 groups 16.7 MB/s 2 s left"],
    [50, "sending 50% 25.0 MB of 50.0 MB 16.7 MB/s 2 s left"],
    [37, "sending ████████░░░░░░░░ 50% 2 s left"],
    [7, "sending"],
  ])("of %i columns holds what there is room for, each part whole", (columns, text) => {
    expect(barText(half, { ms: 1500, columns })).toBe(text);
  });

  it("is never wider than the terminal, and always says what is being done", () => {
    fc.assert(
      fc.property(
        fc.record({
          bytes: fc.nat(1e12),
          ofBytes: fc.option(fc.nat(1e12), { nil: undefined }),
          groups: fc.option(fc.nat(1e7), { nil: undefined }),
          ms: fc.nat(1e7),
          columns: fc.integer({ min: 8, max: 200 }),
        }),
        ({ ms, columns, ...state }) => {
          const text = barText({ phase: "checking", ...state }, { ms, columns });
          expect(text.length).toBeLessThanOrEqual(columns);
          expect(text).toMatch(/^checking/);
        },
      ),
    );
  });

  it("knows one group from several", () => {
    expect(barText({ ...half, groups: 1 }, { ms: 0, columns: 80 })).toContain(" 1 group");
    expect(barText({ ...half, groups: 1 }, { ms: 0, columns: 80 })).not.toContain("groups");
  });
});
