import { describe, expect, it } from "vitest";
import { parseOrder, rankColumns, sortRows } from "../../src/output/sort-rows.ts";
import type { Column } from "../../src/output/views.ts";

describe("the order of rows", () => {
  const rows = [10, "b", "9", "", 2, "A", null, "-1", "9007199254740993", "9007199254740992"];
  const sorted = async (align: Column<unknown>["align"], sort = "v") => {
    const columns: readonly Column<unknown>[] = [{ name: "v", rank: 0, align: align ?? "left", value: (row) => row }];
    return (await sortRows(rows, parseOrder([sort], columns), new AbortController().signal)).join();
  };

  it("has numbers first, then texts, and absent values last, also if it descends", async () => {
    expect(await sorted("right")).toBe("-1,2,9,10,9007199254740992,9007199254740993,A,b,,");
    expect(await sorted("right", "-v")).toBe("9007199254740993,9007199254740992,10,9,2,-1,b,A,,");
    expect(await sorted("decimal")).toBe("2,9,10,9007199254740992,9007199254740993,-1,A,b,,");
    expect(await sorted("left")).toBe("2,10,-1,9,9007199254740992,9007199254740993,A,b,,");
  });

  it("compares numbers with exponents that no decimal has", async () => {
    const columns: readonly Column<unknown>[] = [{ name: "v", rank: 0, value: (row) => row }];
    const order = parseOrder(["v"], columns);
    const numbers = [2e300, -1, 3e-300, 1e300];
    expect(await sortRows(numbers, order, new AbortController().signal)).toEqual([-1, 3e-300, 1e300, 2e300]);
  });

  it("keeps its columns on a narrow terminal, after those of filters", () => {
    const columns = ["id", "name", "price", "size"].map((name, rank): Column<unknown> => ({ name, rank: rank * 2 }));
    const ranked = rankColumns(columns, parseOrder(["-price", "id"], columns), ["size"]);
    expect(ranked.map(({ rank }) => rank)).toEqual([0, 2, 1, 0]);
  });

  it.each([
    ["contxt_length", "context_length"],
    ["Ib", "id"],
    ["prise", "price"],
    ["weight", undefined],
    ["", undefined],
  ])("suggests for an unknown column the nearest one, in the same direction (row %$)", (name, nearest) => {
    const columns = ["id", "price", "context_length"].map((own): Column<unknown> => ({ name: own, rank: 0 }));
    for (const sign of ["", "-"]) {
      const wanted = "a column (with - in front for descending order): id, price, context_length";
      const message = `invalid --sort "${sign}${name}": expected ${wanted}`;
      const details = nearest === undefined ? {} : { hint: `did you mean ${sign}${nearest}?` };
      expect(() => parseOrder(["id", `${sign}${name}`], columns)).toThrow(
        expect.objectContaining({ kind: "invalid-option-value", message, details }),
      );
    }
  });
});
