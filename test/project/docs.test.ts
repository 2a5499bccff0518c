import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { listCommands, loadTree } from "../../src/cli/command.ts";
import { program } from "../../src/commands/program.ts";
import { facts } from "../../src/rollouts/facts.ts";
import { runRollcall } from "../support/run.ts";
import { hasShell } from "../support/shell.ts";
import { withRealOutput } from "./docs/blocks.ts";
import { metricsPage } from "./docs/facts.ts";
import { formatsPage } from "./docs/formats.ts";
import { rulesPage } from "./docs/rules.ts";
import { exitCodesPage, settingsPage } from "./docs/settings.ts";

const pages = [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "SECURITY.md",
  "bench/README.md",
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

describe("the command lines of the pages, and of examples/", () => {
  const examples = readdirSync("examples").map((name) => readFileSync(join("examples", name), "utf8"));
  const texts = [...pages.map((page) => readFileSync(page, "utf8")), ...examples].join("\n");
  const blocks = (language: string): readonly string[] =>
    Array.from(texts.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms")), ([, text = ""]) => text);

  it("name only options that exist", async () => {
    const commands = listCommands(await loadTree(program));
    const known = new Set(commands.flatMap(({ options }) => Object.keys(options).map((name) => `--${name}`)));
    const lines = texts.match(/(?:\brollcall |"rollcall",|… --)[^`\n]*/g) ?? [];
    const named = lines.join("\n").match(/(?<=[\s"'])--[a-z][a-z-]+/g) ?? [];
    expect(named.length).toBeGreaterThan(100);
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });

  it.skipIf(!hasShell("bash"))("have shell blocks that bash can parse", () => {
    for (const block of blocks("sh")) {
      expect(spawnSync("bash", ["-n"], { input: block, encoding: "utf8" })).toMatchObject({ status: 0, stderr: "" });
    }
  });
});

describe("docs/reference/formats.md", () => {
  it("contains every format", async () => {
    await expect(await formatsPage()).toMatchFileSnapshot("../../docs/reference/formats.md");
  });
});

describe("docs/reference/metrics.md", () => {
  it("contains every fact", async () => {
    await expect(metricsPage()).toMatchFileSnapshot("../../docs/reference/metrics.md");
    for (const { name } of facts) expect(metricsPage()).toContain(`\n| \`${name}\` | `);
  });
});

describe("docs/reference/settings.md", () => {
  it("contains every setting", async () => {
    await expect(settingsPage()).toMatchFileSnapshot("../../docs/reference/settings.md");
  });
});

describe("docs/reference/exit-codes.md", () => {
  it("contains every exit code", async () => {
    await expect(exitCodesPage()).toMatchFileSnapshot("../../docs/reference/exit-codes.md");
  });
});

describe("docs/reference/rules.md", () => {
  it("contains every rule", async () => {
    await expect(rulesPage()).toMatchFileSnapshot("../../docs/reference/rules.md");
  });
});

describe("docs/guide/data-format.md", () => {
  it("has a complete line without any problem", async () => {
    const [block = ""] = /(?<=^```jsonc\n).*?(?=^```$)/ms.exec(readFileSync("docs/guide/data-format.md", "utf8")) ?? [];
    const line = JSON.stringify(JSON.parse(block.replaceAll(/^ *\/\/.*$/gm, "")));
    const { code, stderr } = await runRollcall(["check", "-"], { stdin: line });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });
});

describe("docs/contribute/decisions/", () => {
  const names = readdirSync("docs/contribute/decisions").toSorted();
  const numbers = names.map((name) => Number.parseInt(name, 10));

  it("has at most ten decisions, and numbers each once", () => {
    expect(names.length).toBeLessThanOrEqual(10);
    expect(new Set(numbers).size).toBe(names.length);
  });

  it("starts each decision with its number, status and date", () => {
    const heads = names.map((name) => readFileSync(join("docs/contribute/decisions", name), "utf8").split("\n", 3));
    expect(heads.map(([title = ""]) => Number(/^# (\d+)\. ./.exec(title)?.[1]))).toEqual(numbers);
    for (const [, , status] of heads) expect(status).toMatch(/^Status: [a-z]+\. Date: \d{4}-\d{2}-\d{2}$/);
  });
});

describe("the length of the pages", () => {
  const countWords = (paths: readonly string[]): number =>
    paths.flatMap((path) => readFileSync(path, "utf8").match(/\S+/g) ?? []).length;

  it("is at most 20,000 words without the decisions", () => {
    const paths = [...pages, "CODE_OF_CONDUCT.md", "test/README.md"];
    const isDecision = (path: string) => path.startsWith(join("docs", "contribute", "decisions"));
    expect(countWords(paths.filter((path) => !isDecision(path)))).toBeLessThanOrEqual(20_000);
  });

  it.each([
    ["README.md", 900],
    ["docs/reference/rules.md", 2500],
  ])("is limited for %s", (path, limit) => {
    expect(countWords([path])).toBeLessThanOrEqual(limit);
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

  it("cites only existing sections of docs/reference/api.md", () => {
    const numbers = new Set(sectionsOf("docs/reference/api.md").map((title) => /^[\d.]*\d/.exec(title)?.[0]));
    const named = cited(/\binterface (\d(?:\.\d)?(?:(?:, | and | to )\d(?:\.\d)?)*)/gi).flatMap(
      (list) => list.match(/\d(\.\d)?/g) ?? [],
    );
    expect(named.length).toBeGreaterThan(30);
    expect(named.filter((number) => !numbers.has(number))).toEqual([]);
  });

  it("cites only existing pages", () => {
    const names = new Set(pages.map((page) => basename(page)));
    const named = cited(/[(\s]([a-z-]+\.md)\b/g);
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((name) => !names.has(name))).toEqual([]);
  });

  it("cites only existing decisions and files", () => {
    const numbers = new Set(readdirSync("docs/contribute/decisions").map((name) => Number.parseInt(name, 10)));
    expect(cited(/\bdecisions?[ /](\d+)/g).filter((number) => !numbers.has(Number(number)))).toEqual([]);
    const paths = cited(/(?<![\w/.-])((?:src|docs|kernel|build|bench)\/[\w./-]*\w\.\w+)/g);
    expect(paths.filter((path) => !existsSync(path))).toEqual([]);
  });
});
