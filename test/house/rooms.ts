/** The rooms of the house, as data: which doors each may open, which packages it owns, what of the machine it may reach for. */

/** A room: a folder below `src`, or a file at its top. */
export interface Room {
  /** Rooms it may import. */
  readonly opens: readonly string[];
  /** Rooms it may import by type only, so that they are loaded when they are used. */
  readonly byType?: readonly string[];
  /** Rooms it may open with `await import()`. */
  readonly lazily?: readonly string[];
  /** Files of other rooms that it may import beside their `index.ts`. */
  readonly sideDoors?: readonly string[];
  /** Packages it may import; no other room may, but those that `packages` shares. */
  readonly owns?: readonly string[];
  /** What of the machine it may not reach for, though Node would let it. */
  readonly never?: readonly Reach[];
}

/** Parts of the machine. */
export type Reach = "files" | "the network" | "other processes" | "the process";

/** Node's modules by the part of the machine they reach for. */
export const reachOf: Readonly<Record<string, Reach>> = {
  fs: "files",
  "fs/promises": "files",
  net: "the network",
  tls: "the network",
  http: "the network",
  https: "the network",
  http2: "the network",
  dgram: "the network",
  dns: "the network",
  "dns/promises": "the network",
  child_process: "other processes",
  cluster: "other processes",
  worker_threads: "other processes",
  process: "the process",
};

const ground = ["decimal", "exit-codes", "failure", "files", "host", "json", "nearest", "package.json"];
const everything: readonly Reach[] = ["files", "the network", "other processes", "the process"];

/** The rooms, from the top of the house to its ground. */
export const rooms: Readonly<Record<string, Room>> = {
  bin: { opens: [], never: everything },
  main: { opens: ["ahead", "package.json"], lazily: ["run"], never: ["files", "the network", "other processes"] },
  run: {
    opens: ["ahead", "context", "output", "usage", ...ground],
    lazily: ["program"],
    never: ["files", "the network", "other processes"],
  },
  usage: { opens: ground, owns: ["commander"], never: everything },
  program: {
    opens: ["commands", "context", "output", ...ground],
    lazily: ["commands"],
    owns: ["commander"],
    never: everything,
  },
  commands: {
    opens: ["context", "output", "contract", ...ground],
    byType: ["settings", "client", "trajectories", "catalogs", "calls", "service", "mcp"],
    owns: ["commander"],
    never: everything,
  },
  context: {
    opens: ground,
    byType: [
      "ahead",
      "output",
      "contract",
      "settings",
      "client",
      "trajectories",
      "catalogs",
      "calls",
      "service",
      "mcp",
    ],
    lazily: ["settings", "client", "trajectories", "catalogs", "calls", "service", "mcp", "contract"],
  },
  output: {
    opens: ["calls", "contract", ...ground],
    owns: ["chalk", "cli-table3", "ora", "string-width"],
    never: ["the network", "the process"],
  },
  settings: { opens: ["contract", ...ground], owns: ["conf"], never: ["the network", "the process"] },
  client: { opens: ["contract", ...ground], owns: ["undici"], never: ["the process"] },
  trajectories: {
    opens: ["ahead", "contract", "database", ...ground],
    byType: ["client"],
    never: ["the network", "the process"],
  },
  catalogs: { opens: ["contract", "database", ...ground], never: ["the network", "other processes", "the process"] },
  calls: { opens: ["contract", ...ground], never: everything },
  service: {
    opens: ["contract", "database", ...ground],
    sideDoors: ["src/trajectories/read/metrics/metrics.ts"],
    owns: ["hono", "@hono/node-server"],
    never: ["the process"],
  },
  mcp: { opens: ground, owns: ["@modelcontextprotocol/sdk"], never: ["the network", "other processes", "the process"] },
  database: { opens: ground, owns: ["libsql"], never: ["the network", "the process"] },
  contract: { opens: ["json"], owns: ["zod"], never: everything },
  ahead: { opens: [], never: ["the network"] },
  decimal: { opens: [], never: everything },
  "exit-codes": { opens: ["failure"], never: everything },
  failure: { opens: [], never: everything },
  files: { opens: [], never: ["the network", "other processes", "the process"] },
  host: { opens: [], byType: ["ahead"], never: everything },
  json: { opens: [], never: everything },
  nearest: { opens: [], never: everything },
  "package.json": { opens: [], never: everything },
};

/** Rooms whose files are open one by one: a noun each. */
export const openRooms: ReadonlySet<string> = new Set(["contract", "commands", "json"]);

/**
 * Files inside a room that have tests of their own, each for a reason: what the ledger promises shows through the door only
 * when runs die, what is gathered of a file that grows is held against what is read of the whole, however it came, the
 * index has to be the same whatever width its columns take, and a body whatever memory it goes through.
 */
export const testedInside: ReadonlySet<string> = new Set(
  [
    "input/source",
    "read/kernel/kernel",
    "read/kernel/kernel-module",
    "ledger/growing-marks",
    "ledger/known-marks",
    "ledger/ledger",
    "ledger/ledger-known",
    "read/metrics/sketch",
    "follow/gather",
    "follow/growing-groups",
    "read/parts/checksums",
    "read/parts/columns",
    "read/parts/digests",
    "read/parts/group",
    "read/parts/group-keys",
    "read/parts/marks",
    "read/parts/narrow",
    "rules/judgement",
    "read/scan/scan",
    "send/layout",
    "send/plan",
    "send/splice",
  ].map((name) => `src/trajectories/${name}.ts`),
);

/**
 * Folders of a large room, from its ground up: a file imports what its own folder and those below have, and types of all.
 * The way of the data goes through them forward only.
 */
export const floors: Readonly<Record<string, readonly string[]>> = {
  trajectories: [
    "rules",
    "input",
    "read/metrics",
    "read/parts",
    "read/kernel",
    "read/scan",
    "explain",
    "read",
    "ledger",
    "send",
    "follow",
  ],
};

/** Files at the top of `src` that are rooms of their own are opened by their only file. */
export const doorOf = (room: string): string =>
  room === "package.json" || room === "bin" ? room : fileRooms.has(room) ? `src/${room}.ts` : `src/${room}/index.ts`;

const fileRooms = new Set([
  "main",
  "run",
  "usage",
  "program",
  "context",
  "ahead",
  "decimal",
  "exit-codes",
  "failure",
  "files",
  "host",
  "json",
  "nearest",
]);

/** Rooms that may read the clock, chance, and `process`: everybody else is given a host. */
export const hostRooms: ReadonlySet<string> = new Set(["bin", "main", "context"]);

/** What may be loaded with a room, before anything of it was asked for: packages, by the door that loads them. */
export const loadedWith: Readonly<
  Record<string, { readonly packages: readonly string[]; readonly rooms: readonly string[] }>
> = {
  "src/main.ts": { packages: [], rooms: ["main", "ahead", "package.json"] },
  "src/run.ts": { packages: [], rooms: ["run", "usage", "context", "ahead", "output", "contract", ...ground] },
  "src/program.ts": {
    packages: ["commander"],
    rooms: ["program", "commands", "context", "ahead", "output", "contract", ...ground],
  },
  "src/commands/explain/pages.ts": { packages: [], rooms: ["pages", ...ground] },
  "src/commands/schema/schemas.ts": { packages: [], rooms: ["schemas", ...ground] },
  "src/settings/index.ts": { packages: [], rooms: ["settings", "contract", ...ground] },
  "src/client/index.ts": { packages: ["undici", "zod"], rooms: ["client", "contract", ...ground] },
  "src/trajectories/index.ts": {
    packages: ["zod"],
    rooms: ["trajectories", "ahead", "contract", ...ground],
  },
  "src/catalogs/index.ts": { packages: [], rooms: ["catalogs", "contract", ...ground] },
  "src/mcp/index.ts": { packages: ["@modelcontextprotocol/sdk", "zod"], rooms: ["mcp", ...ground] },
  "src/service/index.ts": {
    packages: ["hono", "@hono/node-server", "libsql", "zod"],
    rooms: ["service", "contract", "database", "trajectories", "ahead", ...ground],
  },
};

/** Names that say nothing of what is inside. */
export const emptyNames: ReadonlySet<string> = new Set([
  "utils",
  "util",
  "helpers",
  "helper",
  "common",
  "shared",
  "lib",
  "misc",
]);
