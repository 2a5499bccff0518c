import { mkdtempSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { type CatalogPlace, historyDoor } from "../../src/catalogs/index.ts";

const router: CatalogPlace = { address: "https://one.example", catalog: "router", provider: "r" };

const newHistory = async (options = {}) => {
  const { openHistory } = await historyDoor();
  const folder = mkdtempSync(join(tmpdir(), "history-"));
  const history = openHistory(folder, options);
  onTestFinished(() => history.close());
  return { folder, history };
};

const bytesOf = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
const textOf = (kept: { readonly bytes: Uint8Array } | undefined) =>
  kept === undefined ? undefined : Buffer.from(kept.bytes).toString();

/** A catalog of so many entries, each with facts of its own. */
const large = (count: number, price = (_: number) => "0.000001") =>
  bytesOf({
    data: Array.from({ length: count }, (_, at) => ({
      id: `maker-${at % 7}/model-${at}`,
      context_length: 1024 * at,
      pricing: { prompt: price(at), completion: `0.${String((at * 7919) % 1_000_003).padStart(9, "0")}` },
    })),
  });

describe("the history of catalogs", () => {
  it("has a catalog as it was at a moment", async () => {
    const { history } = await newHistory();
    for (const [at, id] of [
      [100, "a"],
      [200, "b"],
      [300, "a"],
    ] as const) {
      history.keep(router, { bytes: bytesOf({ data: [{ id }] }), fetchedAt: at });
    }
    const seen = [99, 100, 199, 200, 299, 300, 9999].map((moment) => history.at(router, moment));
    expect(seen.map((kept) => [kept?.fetchedAt, textOf(kept)?.slice(16, 17)])).toEqual([
      [100, "a"],
      [100, "a"],
      [100, "a"],
      [200, "b"],
      [200, "b"],
      [300, "a"],
      [300, "a"],
    ]);
  });

  it("keeps what did not change once", async () => {
    const { history } = await newHistory();
    const bytes = bytesOf({ data: [{ id: "a" }] });
    for (const at of [100, 200, 300]) history.keep(router, { bytes, fetchedAt: at });
    expect(history.at(router, 9999)?.fetchedAt).toBe(100);
  });

  it("tells catalogs apart by address, kind and provider", async () => {
    const { history } = await newHistory();
    history.keep(router, { bytes: bytesOf({ data: [] }), fetchedAt: 100 });
    for (const other of [{ address: "local" }, { catalog: "analysis" as const }, { provider: "s" }]) {
      expect(history.at({ ...router, ...other }, 200)).toBeUndefined();
    }
  });

  it("keeps a change of one model of thousands in a few kilobytes", async () => {
    const { history, folder } = await newHistory();
    history.keep(router, { bytes: large(5000), fetchedAt: 0 });
    const before = statSync(join(folder, "catalogs.db-wal")).size;
    const changed = large(5000, (at) => (at === 2500 ? "0.000002" : "0.000001"));
    history.keep(router, { bytes: changed, fetchedAt: 1 });
    expect(textOf(history.at(router, 1))).toBe(Buffer.from(changed).toString());
    expect(textOf(history.at(router, 0))).toBe(Buffer.from(large(5000)).toString());
    // Pages of 16 KiB: the block, its version and their indexes.
    expect(statSync(join(folder, "catalogs.db-wal")).size - before).toBeLessThan(16 * 16_500);
  });

  it("lets the oldest go where it is over its limit, and never the latest of a catalog", async () => {
    const { history } = await newHistory({ limitBytes: 20_000 });
    const other = { ...router, provider: "s" };
    history.keep(other, { bytes: large(300), fetchedAt: 0 });
    const versions = Array.from({ length: 12 }, (_, at) => large(300, () => `0.${at}${"1".repeat(at)}`));
    for (const [at, bytes] of versions.entries()) history.keep(router, { bytes, fetchedAt: at + 1 });
    expect(history.at(router, 1)?.fetchedAt).toBeGreaterThan(1);
    expect(textOf(history.at(router, 99))).toBe(textOf({ bytes: versions.at(-1) ?? Buffer.alloc(0) }));
    expect(textOf(history.at(other, 99))).toBe(textOf({ bytes: large(300) }));
  });

  it("gives back the bytes of whatever it was given", async () => {
    const { history } = await newHistory();
    let at = 0;
    const entry = fc.record({ id: fc.string(), note: fc.jsonValue() });
    const body = fc.oneof(
      fc.array(entry, { maxLength: 200 }).map((data) => JSON.stringify({ data })),
      fc.array(entry, { maxLength: 50 }).map((data) => JSON.stringify({ x: 1, data, data_more: [] }, null, 2)),
      fc.json(),
    );
    fc.assert(
      fc.property(body, (text) => {
        at++;
        history.keep(router, { bytes: Buffer.from(text), fetchedAt: at });
        expect(textOf(history.at(router, at))).toBe(Buffer.from(text).toString());
      }),
      { numRuns: 60 },
    );
  });
});
