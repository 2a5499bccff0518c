import { mkdirSync, mkdtempSync, readdirSync, renameSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { type CatalogId, findSavedCatalog, saveCatalog } from "../../src/catalogs/index.ts";

const router: CatalogId = { address: "https://one.example", catalog: "router", provider: "r" };

const noon = Date.parse("2026-11-01T12:00:00Z");
const hour = 3_600_000;
const day = 24 * hour;

const newFolder = (): string => mkdtempSync(join(tmpdir(), "history-"));

const save = (
  folder: string,
  id: string,
  fetchedAt: number,
  { place = router, ...more }: { readonly place?: CatalogId; readonly limitBytes?: number } = {},
) => saveCatalog(folder, place, { bytes: Buffer.from(JSON.stringify({ data: [{ id }] })), fetchedAt, ...more });

/** The time and the id of the catalog as it was at a time. */
const at = (folder: string, time: number, place = router) => {
  const saved = findSavedCatalog(folder, place, time);
  return saved === undefined
    ? undefined
    : [saved.fetchedAt, JSON.parse(Buffer.from(saved.bytes).toString()).data[0].id];
};

/** The folder of the only catalog in a history. */
const ownFolder = (folder: string): string =>
  join(folder, "catalog-history", readdirSync(join(folder, "catalog-history"))[0] ?? "");

describe("the history of catalogs", () => {
  it("has a catalog as it was at a time, and the first one before that", () => {
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

  it("has a file for each different reply of a day, and writes nothing for the latest one again", () => {
    const folder = newFolder();
    for (const time of [noon, noon + hour, noon + day]) save(folder, "a", time);
    expect(at(folder, noon + 9 * day)).toEqual([noon, "a"]);
    save(folder, "b", noon + day);
    save(folder, "a", noon + day + hour);
    save(folder, "b", noon + day + 2 * hour);
    expect(
      readdirSync(ownFolder(folder))
        .map((name) => name.replace(/[0-9a-f]{24}/, "…"))
        .sort(),
    ).toEqual(["2026-11-01-….json.gz", "2026-11-02-….json.gz", "2026-11-02-….json.gz"]);
    expect(at(folder, noon + 9 * day)).toEqual([noon + day + 2 * hour, "b"]);
  });

  it("keeps catalogs of another address, kind or provider apart", () => {
    const folder = newFolder();
    save(folder, "a", noon);
    for (const other of [{ address: "local" }, { catalog: "analysis" as const }, { provider: "s" }]) {
      expect(at(folder, noon, { ...router, ...other })).toBeUndefined();
    }
  });

  it("ignores files that are not what their names say, whatever is in them", () => {
    const folder = newFolder();
    save(folder, "a", noon);
    const own = ownFolder(folder);
    const digest = "0".repeat(24);
    const text = JSON.stringify({ data: [{ id: "other" }] });
    writeFileSync(join(own, "notes.txt"), text);
    writeFileSync(join(own, `2026-11-02-${digest}.json`), text);
    writeFileSync(join(own, `2026-11-02-${digest}.json.gz`), gzipSync(text));
    writeFileSync(join(own, `2026-11-03-${digest}.json.gz`), text);
    writeFileSync(join(own, `2026-99-99-${digest}.json.gz`), gzipSync(text));
    mkdirSync(join(own, `2026-11-04-${digest}.json.gz`));
    writeFileSync(join(folder, "catalog-history", "file"), "");
    writeFileSync(join(folder, "catalogs.db"), "SQLite format 3\0");
    expect(at(folder, noon + 9 * day)).toEqual([noon, "a"]);
    save(folder, "b", noon + 8 * day);
    expect(at(folder, noon + 9 * day)).toEqual([noon + 8 * day, "b"]);
  });

  it("takes the day of a file from its name if the times of files were lost", () => {
    const folder = newFolder();
    save(folder, "a", noon);
    save(folder, "b", noon + day);
    const own = ownFolder(folder);
    for (const name of readdirSync(own)) utimesSync(join(own, name), noon / 1000 + 1e6, noon / 1000 + 1e6);
    expect([at(folder, noon + 0.5 * day)?.[1], at(folder, noon + 1.5 * day)?.[1]]).toEqual(["a", "b"]);
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
    renameSync(join(own, name), join(own, "moved"));
    expect(at(folder, noon)).toBeUndefined();
  });

  it("removes the oldest files beyond its limit, but never the latest of a catalog", () => {
    const folder = newFolder();
    const other = { ...router, provider: "s" };
    save(folder, "other", noon, { place: other });
    save(folder, "0", noon);
    const { size } = statSync(join(ownFolder(folder), readdirSync(ownFolder(folder))[0] ?? ""));
    for (let id = 1; id < 8; id++) save(folder, `${id}`, noon + id * day, { limitBytes: 4.5 * size });
    expect(at(folder, noon)?.[1]).toBe("5");
    expect(at(folder, noon + 9 * day)?.[1]).toBe("7");
    expect(at(folder, noon, other)?.[1]).toBe("other");
  });
});
