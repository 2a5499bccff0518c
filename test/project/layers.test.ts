import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path/posix";
import { type OutputChunk, rolldown } from "rolldown";
import { describe, expect, it } from "vitest";
import { program } from "../../rolldown.config.ts";

/** A folder or file in `src`. Spaces separate the items of a list. */
interface Module {
  /** Modules that it may import, in addition to the base modules. */
  readonly imports?: string;
  /** Packages that only it may import. */
  readonly packages?: string;
  /** Parts of the system that it may use: `files`, `network`, `processes`. */
  readonly uses?: string;
}

/** Modules that every module may import. */
const baseModules = new Set(
  "decimal failure failures files host json nearest package.json program renamed-rules sentences shell-words units v8-limits".split(
    " ",
  ),
);

/** The modules from top to bottom. */
const modules: Readonly<Record<string, Module>> = {
  main: { imports: "run" },
  run: { imports: "cli commands context output" },
  commands: {
    imports: "calls catalogs cli client connect context contract mcp output service settings trajectories view",
    // For the schemas of documents.
    packages: "zod",
  },
  cli: { imports: "context output", packages: "commander" },
  connect: { imports: "client context contract service settings" },
  context: { imports: "output settings" },
  output: {
    imports: "calls contract settings trajectories",
    packages: "chalk cli-table3 get-east-asian-width ora",
    uses: "files processes",
  },
  mcp: { imports: "trajectories", packages: "@modelcontextprotocol/sdk zod", uses: "files" },
  trajectories: {
    imports: "client contract database messages",
    packages: "@marcbachmann/cel-js fzstd hyparquet yauzl",
    uses: "files processes",
  },
  catalogs: { imports: "contract", packages: "zod", uses: "files" },
  calls: { imports: "messages" },
  messages: {},
  view: { imports: "calls service trajectories", packages: "hono preact zod", uses: "files" },
  service: {
    imports: "contract database trajectories",
    packages: "hono @hono/node-server",
    uses: "files network processes",
  },
  settings: { imports: "contract database", packages: "conf", uses: "files processes" },
  client: { imports: "contract", packages: "undici", uses: "files network processes" },
  database: { packages: "libsql pg", uses: "files network" },
  contract: { packages: "zod" },
  files: { uses: "files" },
  "v8-limits": { uses: "processes" },
};

/** Modules whose files can be imported. Of other modules, only `index.ts` can. */
const openModules = new Set(["contract", "commands", "json", "messages"]);

/**
 * Exceptions: the service computes the metrics of `check`, and the page reads conversations as `call read` does. A page
 * in a file evaluates expressions as `--where` does.
 */
const exceptions = new Set([
  "src/service → src/groups/metrics/metrics.ts",
  "src/view → src/calls/conversation.ts",
  "src/view → src/groups/select/expression.ts",
]);

/** The layers of the trajectory modules from bottom to top. A file imports values of its own layer and lower layers. */
const layers =
  "check/rules input formats groups/metrics groups/parts check groups groups/select ledger send send/follow".split(" ");
const onPath = new Set(layers.map((layer) => layer.split("/")[0]));

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
      };
    },
  );

const packageOf = (specifier: string): string =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");

const folderOf = (path: string): string => (path.split("/")[1] ?? path).replace(/\.ts$/, "");

const moduleOf = (path: string): string => (onPath.has(folderOf(path)) ? "trajectories" : folderOf(path));

/** Trajectory modules of which only `index.ts` can be imported. */
const modulesOnPath = new Set(["formats", "groups", "input", "ledger", "send"]);

/** The checker writes to the index and the metrics, which are below it. */
const isCheckerOutput = (path: string, to: string): boolean =>
  folderOf(path) === "check" && /^src\/groups\/(parts|metrics)\//.test(to);

const has = (list: string | undefined, word: string): boolean => (list ?? "").split(" ").includes(word);

/** True if other modules may import a file. */
const isPublic = (path: string): boolean =>
  openModules.has(moduleOf(path)) ||
  // These files make or recognize failures, and redact secrets, without the rest of the module.
  /^src\/\w+\/(index|failures|saved-files)\.ts$/.test(path) ||
  path === `src/${moduleOf(path)}.ts`;

/** Returns the fault of an import; undefined if it is allowed. */
const findImportFault = (path: string, { to, isType }: Import): string | undefined => {
  const own = moduleOf(path);
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
  const other = moduleOf(to);
  const isInner = modulesOnPath.has(folderOf(to)) && folderOf(to) !== folderOf(path) && !isPublic(to);
  if (isInner && !isCheckerOutput(path, to) && !exceptions.has(`src/${own} → ${to}`)) {
    return `${to} is internal to ${folderOf(to)}`;
  }
  if (other === own) return own === "trajectories" && !isType ? findLayerFault(path, to) : undefined;
  if (exceptions.has(`src/${own} → ${to}`)) return undefined;
  if (!has(entry.imports, other) && !baseModules.has(other)) return `${own} must not import ${other}`;
  return isPublic(to) ? undefined : `${to} is internal to ${other}`;
};

const findLayerFault = (path: string, to: string): string | undefined => {
  const [at, of] = [path, to].map((file) => layers.indexOf(file.split("/").slice(1, -1).join("/"))) as [number, number];
  return path.endsWith("/index.ts") || to.endsWith("/failures.ts") || of <= at ? undefined : `${to} is above ${path}`;
};

/** Internal files with tests, because only a killed run or a failing store shows their promises. */
const testedInternals = /^src\/((input|ledger|groups|check|send)\/|view\/calls\.ts$)/;

const findTestImportFault = ({ to }: Import): string | undefined =>
  !to.startsWith("src/") || isPublic(to) || testedInternals.test(to)
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
    const needsComment = isSource && !/^src\/commands\/|failures\.ts$/.test(path);
    if (needsComment && !/^\/\*\*\s/.test(text)) wrong.push("the first comment is missing");
    if (emptyNames.test(path)) wrong.push("the name does not describe the content");
    const isAlone = path.startsWith("src/") && children.get(dirname(path))?.size === 1;
    if (isAlone) wrong.push("a folder needs more than one file");
    const lines = text.split("\n");
    if (isSource && lines.length > 401) wrong.push("the file has more than 400 lines");
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
});

describe("the import checker", () => {
  it.each([
    ["src/client/client.ts", 'import "../service/index.ts";', "client must not import service"],
    ["src/client/client.ts", 'import type { A } from "../context.ts";', "client must not import context"],
    ["src/contract/log.ts", 'type A = typeof import("../client/index.ts");', "contract must not import client"],
    [
      "src/commands/log/run.ts",
      'export * from "../../client/client.ts";',
      "src/client/client.ts is internal to client",
    ],
    ["src/extras/one.ts", 'import "../host.ts";', "extras is not a known module"],
    ["src/output/a.ts", 'import "../../test/run.ts";', "test/run.ts is not part of the program"],
    ["src/service/app.ts", 'await import("chalk");', "service must not import chalk"],
    ["src/calls/one.ts", 'import {\n  readFile,\n} from "node:fs/promises";', "calls must not use files"],
    ["src/groups/a.ts", 'import "../send/index.ts";', "src/send/index.ts is above src/groups/a.ts"],
    [
      "src/groups/a.ts",
      'import type { A } from "../formats/format.ts";',
      "src/formats/format.ts is internal to formats",
    ],
    [
      "test/client/a.test.ts",
      'import "../../src/client/client.ts";',
      "a test must not import the internal file src/client/client.ts",
    ],
    ["test/helpers/a.ts", "", "the name does not describe the content"],
  ])("reports in %s the error of %s", (path, text, says) => {
    const beside = join(dirname(path.replace(emptyNames, "$1")), "beside.ts");
    const files = new Map(
      [path, beside].map((file) => [file, `/** A planted file. */\n${file === path ? text : ""}\n`]),
    );
    expect(findFaults(files)).toEqual([`${path}: ${says}`]);
  });

  it("reports a file without a first comment, and a folder with one file", () => {
    expect(findFaults(new Map([["src/client/client.ts", "export {};"]]))).toEqual([
      "src/client/client.ts: the first comment is missing",
      "src/client/client.ts: a folder needs more than one file",
    ]);
  });
});

/** The packages that may be loaded with a file. */
const loads: Readonly<Record<string, readonly string[]>> = {
  "src/main.ts": [],
  "src/run.ts": ["commander"],
  "src/commands/config.ts": ["commander"],
  "src/commands/check/run.ts": ["commander", "zod"],
  "src/commands/log/run.ts": ["commander", "zod"],
  "src/commands/models/run.ts": ["commander", "zod"],
  "src/commands/call/run.ts": ["commander", "zod"],
};

describe("the bundle", async () => {
  // These plugins take long and do not change what is loaded.
  const slow = new Set(["kernel", "licenses"]);
  const plugins = program.plugins.filter(({ name }) => !slow.has(name));
  const build = await rolldown({ ...program, plugins, logLevel: "silent" });
  const { output } = await build.generate(program.output);
  await build.close();
  const chunks = new Map(output.flatMap((one) => (one.type === "chunk" ? [[one.fileName, one]] : [])));
  const chunkOf = (path: string): OutputChunk | undefined =>
    [...chunks.values()].find(({ modules }) => Object.keys(modules).some((id) => id.endsWith(`/${path}`)));
  const loadedWith = (chunk: OutputChunk, seen = new Set<OutputChunk>()): ReadonlySet<OutputChunk> => {
    if (seen.has(chunk)) return seen;
    seen.add(chunk);
    for (const name of chunk.imports) {
      const next = chunks.get(name);
      if (next !== undefined) loadedWith(next, seen);
    }
    return seen;
  };
  const packagesIn = ({ modules, imports }: OutputChunk): readonly string[] => {
    const inside = Object.keys(modules).flatMap((id) => id.split("/node_modules/").slice(1));
    return [...inside, ...imports.filter((name) => name === "libsql")].map(packageOf);
  };

  it.each(Object.entries(loads))("loads for %s only the packages %j", (path, allowed) => {
    const chunk = chunkOf(path);
    if (chunk === undefined) throw new Error(`${path} is in no file of the bundle`);
    const loaded = new Set([...loadedWith(chunk)].flatMap(packagesIn));
    expect([...loaded].filter((name) => !allowed.includes(name))).toEqual([]);
  });

  /** Modules of Node that take long to load. Commander loads `child_process` itself. */
  const heavy = /^\s*(?:let|const) \w+ = require\("node:(crypto|fs\/promises|tls|v8|worker_threads)"\)/gm;
  const digests = new Set(["src/commands/check/run.ts", "src/commands/log/run.ts"]);

  it.each(Object.keys(loads).filter((path) => !digests.has(path)))("loads for %s no heavy module of Node", (path) => {
    const chunk = chunkOf(path);
    if (chunk === undefined) throw new Error(`${path} is in no file of the bundle`);
    const early = [...loadedWith(chunk)].flatMap(({ code }) => Array.from(code.matchAll(heavy), ([, name]) => name));
    expect(early).toEqual([]);
  });

  it.each(["models", "call"])("loads for `%s` only the failures and the fields of the catalogs", (noun) => {
    const chunk = chunkOf(`src/commands/${noun}/run.ts`);
    const modules = chunk === undefined ? [] : [...loadedWith(chunk)].flatMap((one) => Object.keys(one.modules));
    const loaded = modules.flatMap((id) => /src\/catalogs\/(.*)\.ts$/.exec(id)?.[1] ?? []);
    expect(["failures", "fields"]).toEqual(expect.arrayContaining(loaded));
  });

  it("loads for `models` no schema of another endpoint", () => {
    const chunk = chunkOf("src/commands/models/run.ts");
    const modules = chunk === undefined ? [] : [...loadedWith(chunk)].flatMap((one) => Object.keys(one.modules));
    const files = modules.flatMap((id) => /src\/contract\/(.*)\.ts$/.exec(id)?.[1] ?? []);
    expect(files.sort()).toEqual(["endpoint", "models", "replies"]);
  });
});
