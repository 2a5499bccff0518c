import { mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { valueAt } from "../../src/commands/mcp/values.ts";
import { isFailure } from "../../src/failure.ts";
import { openRoot } from "../../src/mcp/index.ts";

const wide = { text: 1e6, entries: 1e6, levels: 1000 };

const read = (json: string, bounds = wide): unknown => {
  const bytes = Buffer.from(json);
  return valueAt(bytes, { start: 0, end: bytes.length }, bounds);
};

describe("a value for an agent", () => {
  it("is what JSON.parse makes of it, where nothing is over a bound", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const json = JSON.stringify(value);
        expect(JSON.stringify(read(json))).toBe(json);
        expect(JSON.stringify(read(JSON.stringify(value, undefined, 2)))).toBe(json);
      }),
    );
  });

  it("never holds a number that is another than was spelled", () => {
    const digits = fc.stringMatching(/^-?(0|[1-9]\d{0,30})(\.\d{1,30})?([eE][+-]?[0-3]?\d{1,2})?$/);
    fc.assert(
      fc.property(digits, (spelled) => {
        const value = read(spelled);
        if (typeof value === "string") {
          expect(value).toBe(spelled);
          return;
        }
        // As many digits as a double holds, whatever their unit: the same again when it is written.
        expect(Number(spelled)).toBe(value);
        const written = String(value).toLowerCase();
        const significant = (text: string) =>
          text
            .replace(/e.*$/i, "")
            .replace(/[-.]/g, "")
            .replace(/^0+|0+$/g, "");
        expect(significant(written)).toBe(significant(spelled));
      }),
      { numRuns: 5000 },
    );
  });

  it("is never larger than its bounds allow", () => {
    const bounds = { text: 10, entries: 3, levels: 3 };
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const given = JSON.stringify(read(JSON.stringify(value), bounds));
        expect(given.length).toBeLessThan(40_000);
      }),
    );
  });
});

describe("the root", () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "confined-")));
  const root = join(folder, "root");
  mkdirSync(join(root, "sub", "deep"), { recursive: true });
  for (const name of ["outside", "root/a", "root/sub/b", "root/sub/deep/c"]) writeFileSync(join(folder, name), "{}");
  symlinkSync("..", join(root, "up"));
  symlinkSync("../outside", join(root, "sub", "out"));
  symlinkSync("sub/deep", join(root, "in"));
  symlinkSync("/", join(root, "top"));

  it("never gives a file outside, however a path is put together", () => {
    const parts = fc.constantFrom(
      ...["a", "b", "c", "sub", "deep", "up", "out", "in", "top", "root", "outside", "etc", "passwd"],
      ...["..", ".", "", "~", "*", "%2e%2e", "..\\", "\0", " ", folder.slice(1), root.slice(1)],
    );
    const paths = fc
      .tuple(fc.constantFrom("", "/", "./", "../", `${root}/`, `${folder}/`), fc.array(parts, { maxLength: 8 }))
      .map(([first, rest]) => first + rest.join("/"));
    const { file } = openRoot(root);
    let found = 0;
    fc.assert(
      fc.property(paths, (path) => {
        try {
          const { path: real, name } = file(path);
          found++;
          expect(real.startsWith(root + sep)).toBe(true);
          expect(realpathSync(real)).toBe(real);
          expect(statSync(real).isFile()).toBe(true);
          expect(join(root, name)).toBe(real);
        } catch (thrown) {
          if (!isFailure(thrown, "root-file-missing")) throw thrown;
        }
      }),
      { numRuns: 3000 },
    );
    expect(found).toBeGreaterThan(0);
  });

  it("notices that a path leads elsewhere than when it was looked at", () => {
    const { file } = openRoot(root);
    symlinkSync("a", join(root, "moving"));
    const held = file("moving");
    expect(held.name).toBe("a");
    expect(() => held.assertSame()).not.toThrow();
    rmSync(join(root, "moving"));
    symlinkSync("sub/b", join(root, "moving"));
    expect(() => held.assertSame()).toThrow(expect.objectContaining({ reason: "input-changed" }));
    rmSync(join(root, "moving"));
    symlinkSync("../outside", join(root, "moving"));
    expect(() => held.assertSame()).toThrow(expect.objectContaining({ reason: "input-changed" }));
  });
});
