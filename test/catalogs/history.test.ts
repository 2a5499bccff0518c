import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { type CatalogId, findSavedCatalog, maxSavedReplies, saveCatalog } from "../../src/catalogs/catalog-files.ts";

const router: CatalogId = { baseUrl: "https://one.example", catalog: "router", provider: "r" };

const noon = Date.parse("2026-11-01T12:00:00Z");
const hour = 3_600_000;
const day = 24 * hour;

const newFolder = (): string => mkdtempSync(join(tmpdir(), "history-"));

const save = (folder: string, id: string, fetchedAt: number, place = router) =>
  saveCatalog(folder, place, Buffer.from(JSON.stringify({ data: [{ id }] })), new Date(fetchedAt));

/** The catalog at a time, as its own time and the id of its model. */
const at = (folder: string, time: number, place = router) => {
  const saved = findSavedCatalog(folder, place, time);
  return saved === undefined
    ? undefined
    : [saved.fetchedAt, JSON.parse(Buffer.from(saved.models.bytes).toString()).data[0].id];
};

/** The folder of the only catalog in a history. */
const ownFolder = (folder: string): string =>
  join(folder, "catalog-history", readdirSync(join(folder, "catalog-history"))[0] ?? "");

describe("the history of catalogs", () => {
  it("returns the catalog of a time, or the first catalog for an earlier time", () => {
    const folder = newFolder();
    for (const [id, time] of [
      ["a", noon],
      ["b", noon + hour],
      ["a", noon + day],
    ] as const) {
      save(folder, id, time);
    }
    const times = [noon - 1, noon, noon + hour - 1, noon + hour, noon + day - 1, noon + day, noon + 9 * day];
    expect(times.map((time) => at(folder, time))).toEqual([
      [noon, "a"],
      [noon, "a"],
      [noon, "a"],
      [noon + hour, "b"],
      [noon + hour, "b"],
      [noon + day, "a"],
      [noon + day, "a"],
    ]);
  });

  it("writes a file for each change, and nothing if the latest reply is repeated", () => {
    const folder = newFolder();
    for (const time of [noon, noon + hour, noon + day]) save(folder, "a", time);
    expect(at(folder, noon + 9 * day)).toEqual([noon, "a"]);
    save(folder, "b", noon + day);
    save(folder, "a", noon + day + hour);
    expect(readdirSync(ownFolder(folder))).toEqual(
      ["2026-11-01T12-00", "2026-11-02T12-00", "2026-11-02T13-00"].map((time) => `${time}-00.000Z.json.gz`),
    );
  });

  it("separates catalogs by URL, kind and provider", () => {
    const folder = newFolder();
    save(folder, "a", noon);
    for (const other of [{ baseUrl: "local" }, { catalog: "analysis" as const }, { provider: "s" }]) {
      expect(at(folder, noon, { ...router, ...other })).toBeUndefined();
    }
  });

  it("ignores files that it did not write, with any content", () => {
    const folder = newFolder();
    save(folder, "a", noon);
    const own = ownFolder(folder);
    const text = JSON.stringify({ data: [{ id: "other" }] });
    writeFileSync(join(own, "notes.txt"), text);
    writeFileSync(join(own, "2026-11-02T12-00-00.000Z.json"), text);
    writeFileSync(join(own, "2026-11-02T12-00-00.000Z.json.gz.1234abcd.draft"), gzipSync(text));
    writeFileSync(join(own, "2026-11-03T12-00-00.000Z.json.gz"), text);
    writeFileSync(join(own, "2026-99-99T12-00-00.000Z.json.gz"), gzipSync(text));
    mkdirSync(join(own, "2026-11-04T12-00-00.000Z.json.gz"));
    writeFileSync(join(own, "2026-11-05T12-00-00.000Z.json.gz"), gzipSync('{"models":[]}'));
    writeFileSync(join(folder, "catalog-history", "file"), "");
    writeFileSync(join(folder, "catalogs.db"), "SQLite format 3\0");
    expect(at(folder, noon + 9 * day)).toEqual([noon, "a"]);
    save(folder, "b", noon + 8 * day);
    expect(at(folder, noon + 9 * day)).toEqual([noon + 8 * day, "b"]);
  });

  it("saves the latest reply again if its file is damaged", () => {
    const folder = newFolder();
    save(folder, "a", noon);
    const own = ownFolder(folder);
    const [name = ""] = readdirSync(own);
    writeFileSync(join(own, name), "cut");
    expect(at(folder, noon)).toBeUndefined();
    save(folder, "a", noon + 1);
    expect(at(folder, noon)).toEqual([noon + 1, "a"]);
  });

  it("removes the oldest replies of a catalog beyond the limit", { tags: "slow" }, () => {
    const folder = newFolder();
    for (let id = 0; id < maxSavedReplies + 5; id++) save(folder, `${id}`, noon + id * day);
    expect(readdirSync(ownFolder(folder))).toHaveLength(maxSavedReplies);
    expect(at(folder, noon)?.[1]).toBe("5");
    expect(at(folder, noon + 9999 * day)?.[1]).toBe(`${maxSavedReplies + 4}`);
  });
});
