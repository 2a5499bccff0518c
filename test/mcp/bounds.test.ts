import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatPage } from "../../src/commands/mcp/run-mcp.ts";
import { Failure } from "../../src/failure.ts";
import { openRoot } from "../../src/mcp/root.ts";
import { itHolds } from "../support/property.ts";

const pageOfJson = (json: string, asked: { readonly maxTextLength?: number } = {}): string =>
  formatPage(json, { listKey: "data", offset: 0, limit: 500, maxTextLength: 20_000, ...asked });

describe("a page for an agent", () => {
  it("keeps values within the bounds as they are, with the digits of numbers", () => {
    const value = fc.jsonValue({ maxDepth: 4 });
    const digits = fc.stringMatching(/^-?(0|[1-9]\d{0,30})(\.\d{1,30})?([eE][+-]?[0-3]?\d{1,2})?$/);
    fc.assert(
      fc.property(fc.array(value), value, digits, (data, other, spelled) => {
        const json = `{"data":${JSON.stringify(data)},"other":${JSON.stringify(other)},"number":${spelled}}`;
        const page = pageOfJson(json);
        expect(page).toContain(`"number":${spelled}}`);
        expect(JSON.parse(page)).toEqual({ ...JSON.parse(json), total: data.length, next_offset: null });
      }),
    );
  });

  it("has the entries from the offset, and cuts only longer texts", () => {
    const page = (offset: number) =>
      formatPage('{"x":["abcdefg"],"data":[1,"abcd",3]}', { listKey: "data", offset, limit: 2, maxTextLength: 6 });
    expect(page(0)).toBe('{"x":["abcdef… [1 characters omitted]"],"data":[1,"abcd"],"total":3,"next_offset":2}');
    expect(page(1)).toContain('"data":["abcd",3],"total":3,"next_offset":null');
    expect(page(3)).toContain('"data":[],"total":3,"next_offset":null');
  });

  const leaf = fc.oneof(fc.string({ minLength: 200, maxLength: 3000 }), fc.integer(), fc.constant("9".repeat(5000)));
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(leaf, fc.array(tie("tree"), { maxLength: 30 }), fc.dictionary(fc.string(), tie("tree"))),
  }));
  itHolds(
    "stays within its bounds, and stays JSON",
    fc.property(fc.array(tree, { minLength: 1, maxLength: 20 }), (data) => {
      const page = pageOfJson(JSON.stringify({ data, other: data }).replace(/"(9{5000})"/g, "$1"), {
        maxTextLength: 100,
      });
      expect(page.length).toBeLessThan(200_000);
      expect(JSON.parse(page).data.length).toBeGreaterThan(0);
    }),
    { quick: 5, slow: 25 },
  );
});

describe("openRoot", () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "confined-")));
  const root = join(folder, "root");
  mkdirSync(join(root, "sub", "deep"), { recursive: true });
  for (const name of ["outside", "root/a", "root/sub/b", "root/sub/deep/c"]) writeFileSync(join(folder, name), "{}");
  symlinkSync("..", join(root, "up"));
  symlinkSync("../outside", join(root, "sub", "out"));
  symlinkSync("sub/deep", join(root, "in"));
  symlinkSync("/", join(root, "top"));

  it("opens no file outside the root for any path", () => {
    const inside = fc.constantFrom("a", "b", "c", "sub", "deep", "in", ".", "..");
    const others = fc.constantFrom(
      ...["up", "out", "top", "root", "outside", "etc", "passwd"],
      ...["", "~", "*", "%2e%2e", "..\\", "\0", " ", folder.slice(1), root.slice(1)],
    );
    const parts = fc.oneof({ weight: 2, arbitrary: inside }, { weight: 1, arbitrary: others });
    const paths = fc
      .tuple(fc.constantFrom("", "/", "./", "../", `${root}/`, `${folder}/`), fc.array(parts, { maxLength: 8 }))
      .map(([first, rest]) => first + rest.join("/"));
    const open = openRoot(root);
    let found = 0;
    fc.assert(
      fc.property(paths, (path) => {
        try {
          const file = open(path);
          found++;
          const real = realpathSync(file.path);
          file.close();
          expect(real.startsWith(root + sep)).toBe(true);
          expect(statSync(real).isFile()).toBe(true);
          expect(join(root, file.name)).toBe(real);
        } catch (thrown) {
          if (!(thrown instanceof Failure) || thrown.kind !== "root-file-missing") throw thrown;
        }
      }),
      { numRuns: 1000, examples: [["a"], ["in/c"], ["up/root/a"], ["sub/out"]] },
    );
    expect(found).toBeGreaterThan(0);
  });

  it("reads the file that it opened, also after another file takes its name", () => {
    const open = openRoot(root);
    for (const put of [(at: string) => writeFileSync(at, "other"), (at: string) => symlinkSync("../outside", at)]) {
      writeFileSync(join(root, "moving"), "own");
      const file = open("moving");
      expect(file.name).toBe("moving");
      rmSync(join(root, "moving"));
      put(join(root, "moving"));
      expect(readFileSync(file.path, "utf8")).toBe("own");
      file.close();
      rmSync(join(root, "moving"));
    }
  });
});
