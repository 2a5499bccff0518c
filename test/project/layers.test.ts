import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path/posix";
import { type OutputChunk, rolldown } from "rolldown";
import { describe, expect, it } from "vitest";
import { program } from "../../rolldown.config.ts";

/** A room: a folder below `src`, or a file at its top. Lists are words between spaces. */
interface Room {
  /** Rooms it may import, beside the ground floor. */
  readonly opens?: string;
  /** Packages that it may import, and no other room. */
  readonly owns?: string;
  /** Parts of the machine it may reach for: `files`, `network`, `processes`. */
  readonly reaches?: string;
}

/** Rooms that everybody may open. */
const ground = new Set(
  "decimal failure failures files host json nearest package.json sentences shell-words".split(" "),
);

/** The house, from its top to its ground. */
const rooms: Readonly<Record<string, Room>> = {
  main: { opens: "run" },
  run: { opens: "cli commands context output" },
  commands: {
    opens: "calls catalogs cli client connect context contract mcp output service settings trajectories view",
    // Only the schemas of what is printed, which `rollcall schema` loads.
    owns: "zod",
  },
  cli: { opens: "context output", owns: "commander" },
  connect: { opens: "client context contract service settings" },
  context: { opens: "output settings" },
  output: { opens: "calls contract", owns: "chalk cli-table3 ora string-width", reaches: "files processes" },
  mcp: { opens: "trajectories", owns: "@modelcontextprotocol/sdk zod", reaches: "files" },
  trajectories: {
    opens: "client contract database",
    owns: "@marcbachmann/cel-js fzstd hyparquet yauzl",
    reaches: "files processes",
  },
  catalogs: { opens: "contract", owns: "zod", reaches: "files" },
  calls: {},
  view: { opens: "calls service trajectories", owns: "hono preact zod", reaches: "files" },
  service: {
    opens: "contract database trajectories",
    owns: "hono @hono/node-server",
    reaches: "files network processes",
  },
  settings: { opens: "contract database", owns: "conf", reaches: "files processes" },
  client: { opens: "contract", owns: "undici", reaches: "files network processes" },
  database: { owns: "libsql pg", reaches: "files network" },
  contract: { owns: "zod" },
  files: { reaches: "files" },
};

/** Rooms whose files are open one by one; of the others only `index.ts` is. */
const openRooms = new Set(["contract", "commands", "json"]);

/**
 * The service computes the metrics that `check` computes, and nothing else of that room; the page in a browser reads
 * conversations as `call read` does, and has nothing of the machine that the rest of that room stands on.
 */
const sideDoors = new Set(["src/service → src/groups/metrics/metrics.ts", "src/view → src/calls/conversation.ts"]);

/**
 * Folders of the trajectory path, from its ground up: a file imports values of its own folder and of those before it.
 * They are one room until each of them has its index.ts.
 */
const floors =
  "check/rules input formats groups/metrics groups/parts check groups groups/select ledger send send/follow".split(" ");
const onPath = new Set(floors.map((floor) => floor.split("/")[0]));

/** Node's modules by the part of the machine that they reach for. */
const reachOf: Readonly<Record<string, readonly string[]>> = {
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

const roomOf = (path: string): string => (onPath.has(folderOf(path)) ? "trajectories" : folderOf(path));

/** Modules of the trajectory path that have an `index.ts`: it is their only file that others import. */
const modulesOnPath = new Set(["formats", "groups", "input", "ledger", "send"]);

/** The checker pushes what it finds into the index and the metrics, which stand below it. */
const isPushed = (path: string, to: string): boolean =>
  folderOf(path) === "check" && /^src\/groups\/(parts|metrics)\//.test(to);

const has = (list: string | undefined, word: string): boolean => (list ?? "").split(" ").includes(word);

/** Whether a file may be imported by those outside of its room. */
const isDoor = (path: string): boolean =>
  openRooms.has(roomOf(path)) ||
  // A failure can be made or recognized without loading the module.
  /^src\/\w+\/(index|failures)\.ts$/.test(path) ||
  path === `src/${roomOf(path)}.ts`;

/** What is wrong with an import of a source file; undefined where nothing is. */
const wrongImport = (path: string, { to, isType }: Import): string | undefined => {
  const own = roomOf(path);
  const room = rooms[own] ?? (ground.has(own) ? {} : undefined);
  if (room === undefined) return `${own} is no room of the house`;
  if (to.startsWith("node:")) {
    const reach = Object.keys(reachOf).find((part) => reachOf[part]?.includes(to.slice("node:".length)));
    return reach === undefined || isType || has(room.reaches, reach) ? undefined : `${own} may not reach for ${reach}`;
  }
  // The completion scripts are committed, and printed by the program.
  if (to === "package.json" || (to.startsWith("completions/") && own === "commands")) return undefined;
  if (!to.includes("/") || to.startsWith("@")) return has(room.owns, to) ? undefined : `${own} does not own ${to}`;
  if (!to.startsWith("src/")) return `${to} is no part of the program`;
  const other = roomOf(to);
  const isInner = modulesOnPath.has(folderOf(to)) && folderOf(to) !== folderOf(path) && !isDoor(to);
  if (isInner && !isPushed(path, to) && !sideDoors.has(`src/${own} → ${to}`)) {
    return `of ${folderOf(to)} only its door is open, not ${to}`;
  }
  if (other === own) return own === "trajectories" && !isType ? wrongFloor(path, to) : undefined;
  if (sideDoors.has(`src/${own} → ${to}`)) return undefined;
  if (!has(room.opens, other) && !ground.has(other)) return `${other} is closed to ${own}`;
  return isDoor(to) ? undefined : `of ${other} only its door is open, not ${to}`;
};

const wrongFloor = (path: string, to: string): string | undefined => {
  const [at, of] = [path, to].map((file) => floors.indexOf(file.split("/").slice(1, -1).join("/"))) as [number, number];
  return path.endsWith("/index.ts") || to.endsWith("/failures.ts") || of <= at ? undefined : `${to} is above ${path}`;
};

/** Files inside a room that have tests of their own, since what they promise shows through the door only when runs die, or a store fails. */
const testedInside = /^src\/((input|ledger|groups|check|send)\/|view\/calls\.ts$)/;

const wrongTestImport = ({ to }: Import): string | undefined =>
  !to.startsWith("src/") || isDoor(to) || testedInside.test(to) ? undefined : `a test goes through the door, not ${to}`;

const emptyNames = /(^|\/)(utils?|helpers?|common|shared|lib|misc)(\.|\/|$)/;

/** Every breach in files given by path and text, one sentence each. */
const breachesIn = (files: ReadonlyMap<string, string>): readonly string[] => {
  const children = new Map<string, Set<string>>();
  for (const path of files.keys()) {
    for (let at = path; dirname(at) !== "."; at = dirname(at)) {
      children.set(dirname(at), (children.get(dirname(at)) ?? new Set()).add(basename(at)));
    }
  }
  return [...files].flatMap(([path, text]) => {
    const isSource = /^src\/.*(?<!\.d)\.tsx?$/.test(path);
    const wrong = isSource ? importsOf(path, text).map((one) => wrongImport(path, one)) : [];
    if (/^test\/.*\.ts$/.test(path)) wrong.push(...importsOf(path, text).map(wrongTestImport));
    if (isSource && !/^\/\*\*\s/.test(text)) wrong.push("no sentence at the top says what the file is for");
    if (emptyNames.test(path)) wrong.push("the name says nothing of what is inside");
    const isAlone = path.startsWith("src/") && children.get(dirname(path))?.size === 1;
    if (isAlone) wrong.push("a folder with one file is a file");
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
  it("name files of undici by path, so its version is exact", () => {
    const { devDependencies } = JSON.parse(readFileSync("package.json", "utf8"));
    expect(devDependencies.undici).toMatch(/^\d+\.\d+\.\d+$/);
  });

  it("follow the table of modules, packages and names", () => {
    expect(breachesIn(projectFiles())).toEqual([]);
  });

  it.each([
    ["src/client/send.ts", 'import "../service/index.ts";', "service is closed to client"],
    ["src/client/send.ts", 'import type { A } from "../context.ts";', "context is closed to client"],
    ["src/contract/log.ts", 'type A = typeof import("../client/index.ts");', "client is closed to contract"],
    [
      "src/commands/log/run.ts",
      'export * from "../../client/send.ts";',
      "of client only its door is open, not src/client/send.ts",
    ],
    ["src/extras/one.ts", 'import "../host.ts";', "extras is no room of the house"],
    ["src/output/a.ts", 'import "../../test/run.ts";', "test/run.ts is no part of the program"],
    ["src/service/app.ts", 'await import("chalk");', "service does not own chalk"],
    ["src/calls/one.ts", 'import {\n  readFile,\n} from "node:fs/promises";', "calls may not reach for files"],
    ["src/groups/a.ts", 'import "../send/index.ts";', "src/send/index.ts is above src/groups/a.ts"],
    [
      "src/groups/a.ts",
      'import type { A } from "../formats/format.ts";',
      "of formats only its door is open, not src/formats/format.ts",
    ],
    [
      "test/client/a.test.ts",
      'import "../../src/client/send.ts";',
      "a test goes through the door, not src/client/send.ts",
    ],
    ["test/helpers/a.ts", "", "the name says nothing of what is inside"],
  ])("are checked: the checker reports in %s the fault of %s", (path, text, says) => {
    const beside = join(dirname(path.replace(emptyNames, "$1")), "beside.ts");
    const files = new Map(
      [path, beside].map((file) => [file, `/** A planted file. */\n${file === path ? text : ""}\n`]),
    );
    expect(breachesIn(files)).toEqual([`${path}: ${says}`]);
  });

  it("are checked: the checker reports a file without a first comment, and a folder with one file", () => {
    expect(breachesIn(new Map([["src/client/send.ts", "export {};"]]))).toEqual([
      "src/client/send.ts: no sentence at the top says what the file is for",
      "src/client/send.ts: a folder with one file is a file",
    ]);
  });
});

/** The packages that are loaded with a file: with what every command stands on, and with a few of the commands. */
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
  // What only makes the files smaller or faster takes longer than the rest, and says nothing of what is loaded.
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

  /** Modules of Node that take long to load, and that most verbs have no use for. Commander loads `child_process` itself. */
  const heavy = /^\s*(?:let|const) \w+ = require\("node:(crypto|fs\/promises|tls|v8|worker_threads)"\)/gm;
  const digests = new Set(["src/commands/check/run.ts", "src/commands/log/run.ts"]);

  it.each(Object.keys(loads).filter((path) => !digests.has(path)))("loads for %s no heavy module of Node", (path) => {
    const chunk = chunkOf(path);
    if (chunk === undefined) throw new Error(`${path} is in no file of the bundle`);
    const early = [...loadedWith(chunk)].flatMap(({ code }) => Array.from(code.matchAll(heavy), ([, name]) => name));
    expect(early).toEqual([]);
  });

  it.each(["models", "call"])("loads for `%s` only what lists of models share of the catalogs", (noun) => {
    const chunk = chunkOf(`src/commands/${noun}/run.ts`);
    const modules = chunk === undefined ? [] : [...loadedWith(chunk)].flatMap((one) => Object.keys(one.modules));
    expect(
      modules.flatMap((id) => /src\/catalogs\/(.*)\.ts$/.exec(id)?.[1] ?? []).filter((name) => name !== "failures"),
    ).toEqual(["models"]);
  });

  it("loads for `models` no schema of another endpoint", () => {
    const chunk = chunkOf("src/commands/models/run.ts");
    const modules = chunk === undefined ? [] : [...loadedWith(chunk)].flatMap((one) => Object.keys(one.modules));
    const files = modules.flatMap((id) => /src\/contract\/(.*)\.ts$/.exec(id)?.[1] ?? []);
    expect(files.sort()).toEqual(["endpoint", "models", "replies"]);
  });
});
