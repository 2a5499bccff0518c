import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path/posix";
import { describe, expect, it } from "vitest";

/** A folder or file in `src`. Spaces separate the items of a list. */
interface Module {
  /** Modules that it may import, also types, in addition to the base modules. */
  readonly imports?: string;
  /** Packages that only it may import. */
  readonly packages?: string;
  /** Parts of the system that it may use: `files`, `network`, `processes`. */
  readonly uses?: string;
  /** The files that other modules may import, if not all. */
  readonly open?: string;
}

/** Modules that every module may import. */
const baseModules = new Set("failure json package.json system text".split(" "));

/** The modules from top to bottom. */
const modules: Readonly<Record<string, Module>> = {
  main: { imports: "run" },
  run: { imports: "cli commands output session settings" },
  commands: {
    imports:
      "calls cli conversation logging/ledger logging/send output rollouts/dataset rollouts/facts rollouts/formats rollouts/index rollouts/input rollouts/rules rollouts/stats service session session/options settings view wire/client wire/contract",
  },
  session: {
    imports:
      "output rollouts/dataset rollouts/formats rollouts/index rollouts/input rollouts/rules service session/options settings wire/client wire/contract",
  },
  "session/options": { imports: "cli output" },
  cli: { imports: "output session", packages: "commander" },
  output: {
    imports: "wire/contract",
    packages: "chalk cli-table3 ora string-width zod",
    uses: "files processes",
  },
  view: {
    imports:
      "conversation rollouts/dataset rollouts/facts rollouts/index rollouts/rules rollouts/stats service/http-server",
    packages: "hono preact",
    uses: "files",
    open: "answer-queries answers charts group-content html-export viewer",
  },
  service: {
    imports: "conversation database rollouts/check rollouts/index rollouts/input service/http-server wire/contract",
    packages: "hono @hono/node-server zod",
    uses: "files",
    open: "open-service store/store",
  },
  "rollouts/stats": {
    imports: "rollouts/dataset rollouts/facts rollouts/index rollouts/rules",
    open: "compare fact-rows intervals stats-slice stats-slices",
  },
  "service/http-server": { packages: "@hono/node-server", uses: "network" },
  "logging/send": {
    imports: "logging/ledger rollouts/dataset rollouts/index rollouts/input rollouts/rules wire/client wire/contract",
    uses: "files",
    open: "follow/follow follow/followed-files log-dataset log-result outcome policy request-body verify-ledger",
  },
  "logging/ledger": {
    imports: "database rollouts/index",
    uses: "files processes",
    open: "entries failures file-writer ledger prior-outcomes request-recorder",
  },
  "rollouts/dataset": {
    imports: "conversation rollouts/check rollouts/facts rollouts/formats rollouts/index rollouts/input rollouts/rules",
    uses: "files",
  },
  "rollouts/formats": {
    imports: "conversation rollouts/index rollouts/input rollouts/rules",
    uses: "files",
    open: "convert-inputs convert-opened format recognize",
  },
  "rollouts/check": {
    imports: "conversation rollouts/facts rollouts/index rollouts/rules",
    open: "block checker measure policy-steps trajectory trajectory-prompt",
  },
  "rollouts/input": {
    imports: "rollouts/rules",
    packages: "fzstd hyparquet yauzl",
    uses: "files processes",
  },
  "rollouts/index": {
    imports: "conversation rollouts/facts rollouts/rules",
  },
  "rollouts/facts": {},
  "rollouts/rules": {},
  calls: { imports: "conversation" },
  conversation: {},
  // Saved secrets are redacted before the settings are read.
  settings: { imports: "database wire/contract", packages: "conf", uses: "files processes" },
  "wire/client": {
    imports: "wire/contract",
    packages: "undici",
    uses: "files network processes",
    open: "build-request client exchange failures retry",
  },
  "wire/contract": { packages: "zod" },
  database: { packages: "libsql pg", uses: "files network" },
  json: {},
  text: {},
  system: { uses: "files processes" },
};

/** Node's modules by the part of the system that they use. */
const nodeModules: Readonly<Record<string, readonly string[]>> = {
  files: ["fs", "fs/promises"],
  network: ["net", "tls", "http", "https", "http2", "dgram", "dns", "dns/promises"],
  processes: ["child_process", "cluster", "worker_threads", "process"],
};

interface Import {
  /** A file's path from the top of the project, a package's name, or `node:` and a module. */
  readonly to: string;
  readonly isType: boolean;
  /** True for an import at the first use. */
  readonly isLazy: boolean;
}

const importsOf = (path: string, text: string): readonly Import[] =>
  Array.from(
    text.matchAll(
      /^(?:import|export)(?<type> type)?(?: [^"';=]*? from)? "(?<static>[^"]+)"|(?<typeof>typeof )?import\("(?<lazy>[^"]+)"\)/gm,
    ),
    ({ groups = {} }) => {
      const to = groups.static ?? groups.lazy ?? "";
      const isPath = to.startsWith(".");
      return {
        to: isPath ? join(dirname(path), to.replace(/\?.*$/, "")) : to.startsWith("node:") ? to : packageOf(to),
        isType: groups.type !== undefined || groups.typeof !== undefined,
        isLazy: groups.lazy !== undefined && groups.typeof === undefined,
      };
    },
  );

const packageOf = (specifier: string): string =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");

/** Returns the folder of a module, such as `wire/client`, or the first folder or file in `src`. */
const folderOf = (path: string): string => {
  const [, first = path, second] = path.replace(/\.ts$/, "").split("/");
  return `${first}/${second}` in modules ? `${first}/${second}` : first;
};

const has = (list: string | undefined, word: string): boolean => (list ?? "").split(" ").includes(word);

/** True if other modules may import a file. */
const isPublic = (path: string): boolean => {
  const { open } = modules[folderOf(path)] ?? {};
  const file = path.slice(`src/${folderOf(path)}/`.length, -".ts".length);
  return open === undefined || has(open, file);
};

/** Returns the fault of an import; undefined if it is allowed. */
const findImportFault = (path: string, { to, isType }: Import): string | undefined => {
  const own = folderOf(path);
  const entry = modules[own] ?? (baseModules.has(own) ? {} : undefined);
  if (entry === undefined) return `${own} is not a known module`;
  if (to.startsWith("node:")) {
    const reach = Object.keys(nodeModules).find((part) => nodeModules[part]?.includes(to.slice("node:".length)));
    return reach === undefined || isType || has(entry.uses, reach) ? undefined : `${own} must not use ${reach}`;
  }
  // The program prints the committed completion scripts.
  if (to === "package.json" || (to.startsWith("completions/") && own === "commands")) return undefined;
  if (!to.includes("/") || to.startsWith("@"))
    return has(entry.packages, to) ? undefined : `${own} must not import ${to}`;
  if (!to.startsWith("src/")) return `${to} is not part of the program`;
  const other = folderOf(to);
  if (other === own) return undefined;
  if (!has(entry.imports, other) && !baseModules.has(other)) return `${own} must not import ${other}`;
  return isPublic(to) ? undefined : `${to} is internal to ${other}`;
};

/** Modules whose internal files have tests, because only a killed run or a failing store shows their promises. */
const testedInternals = "logging/ledger logging/send rollouts/input rollouts/dataset rollouts/check wire/client";

const findTestImportFault = ({ to }: Import): string | undefined =>
  !to.startsWith("src/") || isPublic(to) || has(testedInternals, folderOf(to))
    ? undefined
    : `a test must not import the internal file ${to}`;

const emptyNames = /(^|\/)(utils?|helpers?|common|shared|lib|misc)(\.|\/|$)/;

/** Returns a sentence for each fault in files by path. */
const findFaults = (files: ReadonlyMap<string, string>): readonly string[] => {
  const children = new Map<string, Set<string>>();
  for (const path of files.keys()) {
    for (let at = path; dirname(at) !== "."; at = dirname(at)) {
      children.set(dirname(at), (children.get(dirname(at)) ?? new Set()).add(basename(at)));
    }
  }
  return [...files].flatMap(([path, text]) => {
    const isSource = /^src\/.*(?<!\.d)\.tsx?$/.test(path);
    const wrong = isSource ? importsOf(path, text).map((one) => findImportFault(path, one)) : [];
    if (/^test\/.*\.ts$/.test(path)) wrong.push(...importsOf(path, text).map(findTestImportFault));
    // Some paths say it all.
    const needsComment = isSource && !/^src\/commands\/.*\/command\.ts$|failures\.ts$/.test(path);
    if (needsComment && !/^\/\*\*\s/.test(text)) wrong.push("the first comment is missing");
    if (emptyNames.test(path)) wrong.push("the name does not describe the content");
    const isAlone = path.startsWith("src/") && children.get(dirname(path))?.size === 1;
    if (isAlone) wrong.push("a folder needs more than one file");
    const lines = text.split("\n");
    // Rules, checks and facts are added often.
    const maxLines = /^src\/rollouts\/(?:check\/|facts\.|rules\/)/.test(path) ? 300 : 400;
    if (isSource && lines.length > maxLines + 1) wrong.push(`the file has more than ${maxLines} lines`);
    const comment = lines.find((line) => line.length > 120 && /^\s*(\*|\/\/|\/\*)/.test(line));
    if (comment !== undefined) wrong.push(`a comment has more than 120 characters: ${comment}`);
    return wrong.flatMap((sentence) => (sentence === undefined ? [] : [`${path}: ${sentence}`]));
  });
};

const projectFiles = (): ReadonlyMap<string, string> =>
  new Map(
    ["src", "test", "bench", "build"].flatMap((folder) =>
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => join(parentPath, name))
        .map((path) => [path, /\.(tsx?|js)$/.test(path) ? readFileSync(path, "utf8") : ""] as const),
    ),
  );

describe("the imports of src/", () => {
  it("name files of undici by path, so package.json pins its version", () => {
    const { devDependencies } = JSON.parse(readFileSync("package.json", "utf8"));
    expect(devDependencies.undici).toMatch(/^\d+\.\d+\.\d+$/);
  });

  it("follow the table of modules, packages and names", () => {
    expect(findFaults(projectFiles())).toEqual([]);
  });

  it("have no circle", () => {
    const importing = Array.from(projectFiles(), ([path, text]) => ({
      path,
      imported: importsOf(path, text).flatMap(({ to, isLazy }) => (isLazy ? [] : [to])),
    })).filter(({ path }) => path.startsWith("src/"));
    // Files that import none of the others are in no circle.
    let rest = new Map(importing.map(({ path, imported }) => [path, imported]));
    for (let before = 0; before !== rest.size; ) {
      before = rest.size;
      rest = new Map([...rest].filter(([, imported]) => imported.some((to) => rest.has(to))));
    }
    expect([...rest.keys()]).toEqual([]);
  });
});

describe("the table of modules", () => {
  it("names modules and files that exist", () => {
    const open = Object.entries(modules).flatMap(([name, { open = "" }]) =>
      open.split(" ").map((file) => (file === "" ? name : `${name}/${file}`)),
    );
    const named = [...open, ...baseModules, ...testedInternals.split(" ")].filter((name) => name !== "package.json");
    expect(named.filter((name) => !existsSync(`src/${name}`) && !existsSync(`src/${name}.ts`))).toEqual([]);
  });
});

describe("the import checker", () => {
  it.each([
    ["src/wire/client/client.ts", 'import "../../service/index.ts";', "wire/client must not import service"],
    ["src/wire/client/client.ts", 'import type { A } from "../../view/a.ts";', "wire/client must not import view"],
    [
      "src/wire/contract/endpoint.ts",
      'type A = typeof import("../client/index.ts");',
      "wire/contract must not import wire/client",
    ],
    [
      "src/commands/log/run-log.ts",
      'export * from "../../wire/client/pool.ts";',
      "src/wire/client/pool.ts is internal to wire/client",
    ],
    ["src/extras/one.ts", 'import "../failure.ts";', "extras is not a known module"],
    ["src/output/a.ts", 'import "../../test/run.ts";', "test/run.ts is not part of the program"],
    ["src/service/app.ts", 'await import("chalk");', "service must not import chalk"],
    ["src/calls/one.ts", 'import {\n  readFile,\n} from "node:fs/promises";', "calls must not use files"],
    ["src/settings/a.ts", 'import "../view/index.ts";', "settings must not import view"],
    [
      "src/service/a.ts",
      'import type { A } from "../rollouts/check/strings.ts";',
      "src/rollouts/check/strings.ts is internal to rollouts/check",
    ],
    [
      "test/service/a.test.ts",
      'import "../../src/service/pool.ts";',
      "a test must not import the internal file src/service/pool.ts",
    ],
    ["test/helpers/a.ts", "", "the name does not describe the content"],
  ])("reports that $2", (path, text, says) => {
    const beside = join(dirname(path.replace(emptyNames, "$1")), "beside.ts");
    const files = new Map(
      [path, beside].map((file) => [file, `/** A planted file. */\n${file === path ? text : ""}\n`]),
    );
    expect(findFaults(files)).toEqual([`${path}: ${says}`]);
  });

  it("reports a file without a first comment, and a folder with one file", () => {
    expect(findFaults(new Map([["src/wire/client/client.ts", "export {};"]]))).toEqual([
      "src/wire/client/client.ts: the first comment is missing",
      "src/wire/client/client.ts: a folder needs more than one file",
    ]);
  });
});
