import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import type { RolldownOptions } from "rolldown";
import { kernel } from "./build/kernel.ts";
import { licenses } from "./build/licenses.ts";
import { page } from "./build/page.ts";
import { raw } from "./build/raw.ts";

/**
 * Files that are loaded together are bundled into one, because Node takes a fifth of a millisecond for each. A group
 * contains the imports of its modules, except those of the groups above it.
 */
const groups = [
  // Otherwise it is in a group with code that uses it, such as the documents.
  { name: "zod", test: /\/node_modules\/zod\/v4\/mini\/schemas\.js$/ },
  { name: "main", test: /\/src\/main\.ts$/ },
  {
    name: "output",
    test: /\/src\/(text\/(sentences|decimal|units)|json\/raw-json|output\/(list|page|json-fields|cleaner|screen))\.ts$/,
  },
  // `check` and `log` convert files, but print no call.
  { name: "values", test: /\/src\/rollouts\/messages\/(value|output-json|chat-marks|open-calls)\.ts$/ },
  {
    name: "run",
    test: /\/src\/(run|system\/program|cli\/(argv|command|globals|kinds)|commands\/program)\.ts$/,
  },
  { name: "options", test: /\/src\/session\/options\/[a-z-]+\.ts$/ },
  { name: "settings", test: /\/src\/(settings\/read|session\/connect)\.ts$/ },
  // Failures are made without loading the module that they are about.
  { name: "failures", test: /\/src\/(wire\/client|settings|catalogs|database|commands)\/failures\.ts$/ },
  // Each is too small for a file, and completion and help need all.
  {
    name: "nouns",
    test: /\/src\/commands\/(auth|config|profile|serve|(completion|ledger)\/command)\.ts$/,
  },
  {
    name: "log-run",
    test: /\/src\/(commands\/(log\/(run-log|log-report)|check\/run-check)|session\/(print-problems|read-inputs))\.ts$/,
  },
];

/** Fails the build if a group has no module, for example because files were renamed. */
const requireGroups = {
  name: "require-groups",
  generateBundle: (_: unknown, bundle: Record<string, { name?: string; moduleIds?: readonly string[] }>) => {
    const modulesOf = (name: string) =>
      Object.values(bundle).flatMap((chunk) => (chunk.name === name && chunk.moduleIds) || []);
    const empty = groups.flatMap(({ name, test }) => (modulesOf(name).some((id) => test.test(id)) ? [] : name));
    if (empty.length > 0) throw new Error(`no module is in the groups ${empty.join(", ")}`);
  },
};

/** rollcall uses HTTP/1.1, and loading Node's HTTP/2 takes 4 ms. undici also runs on a Node that has no HTTP/2. */
const withoutHttp2 = {
  name: "without-http2",
  resolveId: (source: string, importer?: string) =>
    source === "node:http2" && importer?.includes("/undici/") ? "\0no-http2" : undefined,
  load: (id: string) => (id === "\0no-http2" ? "module.exports = { constants: {} };" : undefined),
};

/** Loading one of these modules takes 1 to 5 ms, and many runs call none of their functions. */
const lateModules = /^node:(child_process|crypto|fs\/promises|stream\/promises|v8|zlib)$/;

/** Loads such a module at the first call. If rollcall imports another kind of value from it, the build fails. */
const loadLate = {
  name: "load-late",
  resolveId: (source: string, importer = "") =>
    lateModules.test(source) && /\/(src|commander\/lib)\//.test(importer) ? `\0late-${source}` : undefined,
  load: (id: string) => {
    const name = id.startsWith("\0late-") ? id.slice("\0late-".length) : undefined;
    if (name === undefined) return undefined;
    const members = Object.entries(process.getBuiltinModule(name) ?? {});
    const functions = members.filter(([key, value]) => typeof value === "function" && /^[a-z]/.test(key));
    // Looking up a module takes as long as hashing 300 bytes.
    const load = `let loaded; const load = () => (loaded ??= process.getBuiltinModule("${name}"));`;
    const exported = functions.map(([key]) => `export const ${key} = (...given) => load().${key}(...given);`);
    return { code: [load, ...exported].join("\n"), moduleSideEffects: false };
  },
};

const libsqlScript = createRequire(import.meta.url).resolve("libsql");
const { optionalDependencies: addons }: { optionalDependencies: Readonly<Record<string, string>> } = JSON.parse(
  readFileSync(join(dirname(libsqlScript), "package.json"), "utf8"),
);

/** Finds the addon as libsql does, except that Node's own file names the C library. libsql takes 14 of 22 ms for that. */
const findAddon = `const requireNative = () => {
  const fs = process.getBuiltinModule("node:fs");
  const head = Buffer.alloc(4096);
  const node = fs.openSync(process.execPath);
  fs.readSync(node, head);
  fs.closeSync(node);
  const target = \`@libsql/\${process.platform}-\${process.arch}\`;
  const names = ${JSON.stringify(Object.keys(addons))}.filter((name) => name.startsWith(target));
  const name = names.find((one) => one.includes("musl") === head.includes("/ld-musl-")) ?? target;
  const { createRequire } = process.getBuiltinModule("node:module");
  const own = createRequire(__filename);
  // A Python package contains the addon, but not libsql.
  const isInside = fs.existsSync(\`\${__dirname}/../node_modules/\${name}\`);
  return (isInside ? own : createRequire(own.resolve("libsql")))(name);
};
`;

/** Bundles libsql's script without its search for the addon. The addon stays a package. */
const bundleLibsql = {
  name: "bundle-libsql",
  resolveId: (source: string) => (source === "libsql" ? libsqlScript : undefined),
  transform: (code: string, id: string) => {
    if (id !== libsqlScript) return undefined;
    const [search = ""] = /const \{ load, currentTarget \}[\s\S]*?(?=const \{\s+databaseOpen,)/.exec(code) ?? [];
    if (search === "") throw new Error("libsql has another script");
    return code.replace(search, () => findAddon);
  },
};

/** Node reads a file with only ASCII characters in half of the time, and V8 stores it in half of the memory. */
const ascii = {
  name: "ascii",
  generateBundle: (_: unknown, bundle: Record<string, { type: string; code?: string }>) => {
    const escapeUnit = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
    for (const chunk of Object.values(bundle))
      if (chunk.code) chunk.code = chunk.code.replaceAll(/[^\0-\x7f]/g, escapeUnit);
  },
};

/** Compiles the functions of typical runs (`build/compiled.js`). */
const compiled = {
  name: "compiled",
  writeBundle: () => {
    // If it fails, the error has its output.
    execFileSync(process.execPath, ["build/compiled.js"], { stdio: "pipe" });
  },
};

const listed = licenses();

/** The program: one file that every run needs, and files that are loaded when they are used. */
export const program = {
  input: "src/main.ts",
  platform: "node",
  plugins: [
    withoutHttp2,
    loadLate,
    bundleLibsql,
    kernel(),
    raw(),
    page([listed]),
    listed,
    requireGroups,
    ascii,
    compiled,
  ],
  preserveEntrySignatures: "allow-extension",
  treeshake: {
    moduleSideEffects: [
      { test: /\/src\/(output|calls|catalogs|rollouts\/(check|dataset|rules)|logging\/send)\//, sideEffects: false },
    ],
  },
  logLevel: "warn",
  output: {
    dir: "dist",
    // Node sets up its loader of ES modules only for programs that need it, and takes 5 ms for that.
    format: "cjs",
    dynamicImportInCjs: false,
    entryFileNames: "[name].cjs",
    // A stack trace names a file of this folder: `log-command.cjs`, not `command4.cjs`.
    chunkFileNames: (chunk) =>
      chunk.name === "command" ? `${basename(dirname(chunk.facadeModuleId ?? ""))}-command.cjs` : "[name].cjs",
    codeSplitting: { groups },
    comments: { legal: true, annotation: false, jsdoc: false },
    cleanDir: true,
  },
} satisfies RolldownOptions;

export default program;
