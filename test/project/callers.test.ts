import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path/posix";
import { describe, expect, it } from "vitest";

/** Texts of the code by path. Node and vitest load what `bin` and the configurations name. */
const files: ReadonlyMap<string, string> = new Map(
  ["bin", "src", "test", "bench", "build", "."].flatMap((folder) =>
    readdirSync(folder, { recursive: folder !== ".", encoding: "utf8" })
      .map((name) => join(folder, name.replaceAll("\\", "/")))
      .filter((path) => /(?<!\.d)\.(tsx?|js)$/.test(path))
      .map((path) => [path, readFileSync(path, "utf8")] as const),
  ),
);

/** Returns the names that a file exports. */
const exportsOf = (text: string): readonly string[] => [
  ...Array.from(
    text.matchAll(/^export (?:async )?(?:abstract )?(?:const|let|function\*?|class|type|interface) (\w+)/gm),
    ([, name = ""]) => name,
  ),
  ...Array.from(text.matchAll(/^export (?:type )?\{([^}]*)\}/gm), ([, list = ""]) => list)
    .flatMap((list) => list.split(","))
    .map((item) => item.trim().replace(/^(type )?(.* as )?/, ""))
    .filter((name) => name !== ""),
];

/** Texts of the files that import each file, statically or at the first use. */
const importers = new Map<string, { readonly path: string; readonly text: string }[]>();
for (const [path, text] of files) {
  for (const [, to = ""] of text.matchAll(/(?:from |import\(|import |reporters: .*)"(\.[^"?]+)/g)) {
    const imported = join(dirname(path), to);
    importers.set(imported, [...(importers.get(imported) ?? []), { path, text }]);
  }
}

const count = (name: string, text: string): number => text.match(new RegExp(`\\b${name}\\b`, "g"))?.length ?? 0;

/** The kernel's functions are called by name, without an import. */
const usersOf = (path: string): readonly { readonly path: string; readonly text: string }[] => [
  ...(importers.get(path) ?? []),
  ...(path.startsWith("src/json/kernel/") ? Array.from(files, ([path, text]) => ({ path, text })) : []),
];

/** Exports that nothing else mentions. A test does not make code outside of `test/` used. */
const findUnused = (): readonly string[] =>
  Array.from(files, ([path, text]) => {
    const users = usersOf(path).filter(
      (user) => user.path !== path && (path.startsWith("test/") || !user.path.startsWith("test/")),
    );
    return exportsOf(text)
      .filter((name) => name !== "main")
      .filter((name) => count(name, text) === 1 && !users.some((user) => count(name, user.text) > 0))
      .map((name) => `${path}: ${name}`);
  }).flat();

describe("the exports", () => {
  it("have a caller that is not a test", () => {
    expect(findUnused()).toEqual([]);
  });
});
