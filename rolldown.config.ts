import { execFileSync } from "node:child_process";
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
  // Used by the checker, without the schemas of the contract, which use it too.
  { name: "table", test: /\/src\/json\/(table|reader|keys|program)\.ts$/ },
  { name: "main", test: /\/src\/main\.ts$/ },
  {
    name: "output",
    test: /\/src\/(sentences|decimal|units|json\/raw-json|output\/(list|page|wire|cleaner|screen))\.ts$/,
  },
  // `check` and `log` convert files, but print no call.
  { name: "values", test: /\/src\/messages\/(value|output-json)\.ts$/ },
  // Only `call read` prints calls, but `src/output/index.ts` exports their pages.
  { name: "call-page", test: /\/src\/output\/call\/printer\.ts$/ },
  { name: "run", test: /\/src\/(run|program|cli\/index)\.ts$/ },
  { name: "options", test: /\/src\/commands\/(inputs|lists)\/options\.ts$/ },
  { name: "print", test: /\/src\/commands\/lists\/object-list\.ts$/ },
  { name: "contract", test: /\/src\/contract\/(endpoint|replies)\.ts$|\/node_modules\/zod\// },
  { name: "settings", test: /\/src\/(settings\/index|connect)\.ts$/ },
  // Failures of any module are made without loading the module.
  { name: "failures", test: /\/src\/(client|settings|catalogs|database|commands|output)\/failures\.ts$/ },
  { name: "input-failures", test: /\/src\/\w+\/failures\.ts$/ },
  {
    name: "log",
    test: /\/src\/(commands\/(log|check)\/command|send\/index)\.ts$/,
  },
  {
    name: "selection",
    test: /\/src\/(catalogs\/models|commands\/lists\/selection)\.ts$/,
  },
  { name: "report-files", test: /\/src\/commands\/inputs\/files\.ts$/ },
  // Before `models`, which uses one of these files and would contain all.
  { name: "catalogs", test: /\/src\/catalogs\/index\.ts$/ },
  { name: "models", test: /\/src\/commands\/models\/run\.ts$/ },
  // `catalog cost` reads a call.
  { name: "call-contract", test: /\/src\/contract\/call\.ts$/ },
  // Completion uses them too.
  { name: "words", test: /\/src\/commands\/catalog\/columns\.ts$/ },
  { name: "catalog", test: /\/src\/commands\/catalog\/(?!command)[a-z-]+\.ts$/ },
  // Each is too small for a file, and completion and help need all.
  {
    name: "nouns",
    test: /\/src\/commands\/((auth|commands|config|profile|serve)|(completion|doctor|explain|ledger|mcp|schema)\/command)\.ts$/,
  },
  // The local service uses them too.
  { name: "metrics", test: /\/src\/groups\/metrics\/metrics\.ts$/ },
  { name: "log-contract", test: /\/src\/contract\/log\.ts$/ },
  { name: "groups", test: /\/src\/(check|groups)\/index\.ts$/ },
  { name: "send", test: /\/src\/send\/deliver\.ts$/ },
  { name: "database", test: /\/src\/database\/index\.ts$/ },
  { name: "postgres", test: /\/src\/database\/postgres\.ts$/ },
  { name: "ledger", test: /\/src\/ledger\/ledger\.ts$/ },
  { name: "log-run", test: /\/src\/commands\/(log\/(run|report)|check\/run|inputs\/(problems|read))\.ts$/ },
];

/** The SDK of MCP is a separate bundle: it contains validators that every command with a reply would load otherwise. */
const separateMcpSdk = {
  name: "separate-mcp-sdk",
  resolveId: (source: string) => (source === "./sdk.ts" ? { id: "./mcp-sdk.cjs", external: true } : undefined),
};

/** rollcall uses HTTP/1.1, and loading Node's HTTP/2 takes 4 ms. undici also runs on a Node that has no HTTP/2. */
const withoutHttp2 = {
  name: "without-http2",
  resolveId: (source: string, importer?: string) =>
    source === "node:http2" && importer?.includes("/undici/") ? "\0no-http2" : undefined,
  load: (id: string) => (id === "\0no-http2" ? "module.exports = { constants: {} };" : undefined),
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
  closeBundle: () => {
    execFileSync(process.execPath, ["build/compiled.js"], { stdio: ["ignore", "ignore", "inherit"] });
  },
};

const listed = licenses();

/** The program: one file that every run needs, and files that are loaded when they are used. */
export const program = {
  input: { main: "src/main.ts", "log-worker": "src/service/log-worker.ts" },
  platform: "node",
  external: ["libsql"],
  plugins: [separateMcpSdk, withoutHttp2, kernel(), raw(), page([listed]), listed, ascii, compiled],
  preserveEntrySignatures: "allow-extension",
  // An index.ts of these modules does not load the files that its importer does not use.
  treeshake: { moduleSideEffects: [{ test: /\/src\/(output|calls|catalogs|groups)\//, sideEffects: false }] },
  logLevel: "warn",
  output: {
    dir: "dist",
    // Node sets up its loader of ES modules only for programs that need it, and takes 5 ms for that.
    format: "cjs",
    dynamicImportInCjs: false,
    entryFileNames: "[name].cjs",
    chunkFileNames: "[name].cjs",
    codeSplitting: { groups },
    comments: { legal: true, annotation: false, jsdoc: false },
    cleanDir: true,
  },
} satisfies RolldownOptions;

const mcpSdk = {
  input: { "mcp-sdk": "src/mcp/sdk.ts" },
  platform: "node",
  plugins: [listed],
  logLevel: "warn",
  output: { ...program.output, codeSplitting: false },
} satisfies RolldownOptions;

// The first empties the folder. The program writes the list of licenses for both.
export default [mcpSdk, { ...program, output: { ...program.output, cleanDir: false } }];
