import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { withRealOutput } from "./docs/blocks.ts";
import { commandsPage } from "./docs/commands.ts";
import { errorsPage } from "./docs/errors.ts";

/** All pages, by path. */
const pages = [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  ...readdirSync("docs", { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => join("docs", name)),
];

describe("README.md", () => {
  it("shows what its commands really print", async () => {
    await expect(await withRealOutput(readFileSync("README.md", "utf8"))).toMatchFileSnapshot("../README.md");
  }, 120_000);
});

describe("docs/commands.md", () => {
  it("is what the program says of its commands", async () => {
    await expect(await commandsPage()).toMatchFileSnapshot("../docs/commands.md");
  });
});

describe("docs/errors.md", () => {
  it("is what the program says when a run fails", async () => {
    await expect(await errorsPage()).toMatchFileSnapshot("../docs/errors.md");
  });
});

describe("the pages", () => {
  it.each(pages)("%s names only files that there are", (page) => {
    const named = readFileSync(page, "utf8").matchAll(
      /(?<![\w/.-])((?:src|test|bin|build|bench|docs|completions)\/[\w./-]*\w)/g,
    );
    const paths = Array.from(named, ([path]) => path);
    expect(paths.filter((path) => !existsSync(path))).toEqual([]);
  });

  it.each(pages)("%s links only to what there is", (page) => {
    const links = Array.from(readFileSync(page, "utf8").matchAll(/\]\((?!https?:)([^)#]+)/g), ([, to = ""]) => to);
    expect(links.filter((to) => !existsSync(join(page, "..", to)))).toEqual([]);
  });
});
