import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { describeCommands } from "../../src/cli/index.ts";
import { program } from "../../src/program.ts";
import { hasShell } from "../support/shell.ts";
import { withRealOutput } from "./docs/blocks.ts";
import { commandsPage } from "./docs/commands.ts";
import { formatsPage } from "./docs/formats.ts";

/** All pages, by path. */
const pages = [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "SECURITY.md",
  "CODE_OF_CONDUCT.md",
  ...readdirSync("docs", { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => join("docs", name)),
];

const pagesWithCommands = pages.filter((page) => /^```console$/m.test(readFileSync(page, "utf8")));

describe("the console blocks of a page", { tags: "slow" }, () => {
  it.each(pagesWithCommands)("show the real output in %s", async (page) => {
    await expect(await withRealOutput(readFileSync(page, "utf8"))).toMatchFileSnapshot(`../../${page}`);
  });
});

describe("docs/recipes.md and examples/", () => {
  const recipes = readFileSync("docs/recipes.md", "utf8");
  const blocks = (language: string): readonly string[] =>
    Array.from(recipes.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms")), ([, text = ""]) => text);

  it("name only options that exist", async () => {
    const commands = await describeCommands(program);
    const known = new Set(commands.flatMap(({ options }) => options.map(({ name }) => name)));
    const examples = readdirSync("examples").map((name) => readFileSync(join("examples", name), "utf8"));
    const named = [...blocks("sh"), ...examples].join("\n").match(/(?<=[\s"'])--[a-z-]+/g) ?? [];
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });

  it.skipIf(!hasShell("bash"))("have shell blocks that bash can parse", () => {
    for (const block of blocks("sh")) {
      expect(spawnSync("bash", ["-n"], { input: block, encoding: "utf8" })).toMatchObject({ status: 0, stderr: "" });
    }
  });
});

describe("docs/commands.md", () => {
  it("contains the help of every command, with each option once", async () => {
    await expect(await commandsPage()).toMatchFileSnapshot("../../docs/commands.md");
  });
});

describe("docs/formats.md", () => {
  it("contains the description of every format", async () => {
    await expect(await formatsPage()).toMatchFileSnapshot("../../docs/formats.md");
  });
});

describe("docs/decisions/", () => {
  it("numbers each decision in its file name and in its title", () => {
    const names = readdirSync("docs/decisions").toSorted();
    expect(names.map((name) => name.slice(0, 4))).toEqual(names.map((_, at) => String(at + 1).padStart(4, "0")));
    const titles = names.map((name) => readFileSync(join("docs/decisions", name), "utf8").split("\n")[0] ?? "");
    expect(titles.map((title) => /^# (\d+)\. ./.exec(title)?.[1])).toEqual(names.map((_, at) => String(at + 1)));
  });
});

describe("a page", () => {
  it.each(pages)("names only files that exist: %s", (page) => {
    const named = readFileSync(page, "utf8").matchAll(
      /(?<![\w/.-])((?:src|test|bin|build|bench|docs|examples|completions)\/[\w./-]*\w)/g,
    );
    const paths = Array.from(named, ([path]) => path);
    expect(paths.filter((path) => !existsSync(path))).toEqual([]);
  });

  it.each(pages)("links only to files that exist: %s", (page) => {
    const links = Array.from(readFileSync(page, "utf8").matchAll(/\]\((?!https?:)([^)#]+)/g), ([, to = ""]) => to);
    expect(links.filter((to) => !existsSync(join(page, "..", to)))).toEqual([]);
  });
});

describe("the source", () => {
  const sources = ["src", "build", "bench"].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((name) => /\.(ts|js)$/.test(name))
      .map((name) => join(folder, name)),
  );
  const cited = (pattern: RegExp): readonly string[] =>
    sources.flatMap((file) => Array.from(readFileSync(file, "utf8").matchAll(pattern), ([, what = ""]) => what));
  const sectionsOf = (page: string): readonly string[] =>
    Array.from(
      readFileSync(page, "utf8").matchAll(/^#+ (.*)$|^\*\*(.*?)\.?\*\*/gm),
      ([, heading, bold]) => heading ?? bold ?? "",
    );

  it("cites only existing sections of docs/interface.md", () => {
    const numbers = new Set(sectionsOf("docs/interface.md").map((title) => /^[\d.]*\d/.exec(title)?.[0]));
    const named = cited(/\binterface (\d(?:\.\d)?(?:(?:, | and | to )\d(?:\.\d)?)*)/g).flatMap(
      (list) => list.match(/\d(\.\d)?/g) ?? [],
    );
    expect(named.length).toBeGreaterThan(50);
    expect(named.filter((number) => !numbers.has(number))).toEqual([]);
  });

  it("cites only existing headings of docs/promises.md", () => {
    const titles = new Set(sectionsOf("docs/promises.md").map((title) => title.replaceAll("`", "")));
    const named = cited(/promises\.md, "([^"]+)"/g);
    expect(named.length).toBeGreaterThan(15);
    expect(named.filter((title) => !titles.has(title.replaceAll("`", "")))).toEqual([]);
  });

  it("cites only existing decisions and files", () => {
    const numbers = new Set(readdirSync("docs/decisions").map((name) => Number.parseInt(name, 10)));
    expect(cited(/\bdecisions?[ /](\d+)/g).filter((number) => !numbers.has(Number(number)))).toEqual([]);
    const paths = cited(/(?<![\w/.-])((?:src|docs|kernel|build|bench)\/[\w./-]*\w\.\w+)/g);
    expect(paths.filter((path) => !existsSync(path))).toEqual([]);
  });
});
