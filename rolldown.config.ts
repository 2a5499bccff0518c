import type { RolldownOptions } from "rolldown";
import { kernel } from "./build/kernel.ts";
import { licenses } from "./build/licenses.ts";
import { page } from "./build/page.ts";
import { raw } from "./build/raw.ts";

/**
 * Files that are loaded together are one: Node takes a fifth of a millisecond for each, however small it is. A group takes
 * along whatever its modules stand on, but for what those above it have.
 */
const groups = [
  // Reading has it without the schemas of the contract, which have it too.
  { name: "table", test: /\/src\/json\/(table|reader|keys|program)\.ts$/ },
  { name: "main", test: /\/src\/main\.ts$/ },
  { name: "run", test: /\/src\/(run|program|decimal|cli\/index|output\/views)\.ts$/ },
  { name: "options", test: /\/src\/commands\/(inputs|lists)\/options\.ts$/ },
  { name: "print", test: /\/src\/(output\/(list|page)|commands\/lists\/object-list)\.ts$/ },
  { name: "contract", test: /\/src\/contract\/(endpoint|replies)\.ts$|\/node_modules\/zod\// },
  { name: "settings", test: /\/src\/(settings\/index|connect|shell-words)\.ts$/ },
  // Failures of any module are made without loading the module.
  { name: "failures", test: /\/src\/\w+\/failures\.ts$/ },
  {
    name: "log",
    test: /\/src\/(commands\/(log|check)\/command|send\/index)\.ts$/,
  },
  {
    name: "selection",
    test: /\/src\/(catalogs\/models|commands\/lists\/selection)\.ts$/,
  },
  // Before `models`, which would take all of them along for one.
  { name: "catalogs", test: /\/src\/catalogs\/index\.ts$/ },
  { name: "models", test: /\/src\/commands\/models\/run\.ts$/ },
  // A catalog's cost may be that of a call.
  { name: "call-contract", test: /\/src\/contract\/call\.ts$/ },
  // Completion has them too.
  { name: "words", test: /\/src\/commands\/catalog\/columns\.ts$/ },
  { name: "catalog", test: /\/src\/commands\/catalog\/(?!command)[a-z-]+\.ts$/ },
  // None of them is worth a file, and completion and the help need all.
  {
    name: "nouns",
    test: /\/src\/commands\/((auth|commands|config|profile|serve)|(completion|doctor|explain|ledger|mcp|schema)\/command)\.ts$/,
  },
  // The local service has them too.
  { name: "metrics", test: /\/src\/groups\/metrics\/metrics\.ts$/ },
  { name: "log-contract", test: /\/src\/contract\/log\.ts$/ },
  { name: "groups", test: /\/src\/(check|groups)\/index\.ts$/ },
  { name: "send", test: /\/src\/send\/deliver\.ts$/ },
  { name: "database", test: /\/src\/database\/index\.ts$/ },
  { name: "postgres", test: /\/src\/database\/postgres\.ts$/ },
  { name: "ledger", test: /\/src\/ledger\/ledger\.ts$/ },
  { name: "log-run", test: /\/src\/commands\/(log\/(run|report)|check\/run|inputs\/(problems|read))\.ts$/ },
];

/** The SDK of MCP holds validators of its own: in the bundle of the program, every command that checks a reply would load them. */
const mcpSdkBeside = {
  name: "mcp-sdk-beside",
  resolveId: (source: string) => (source === "./sdk.ts" ? { id: "./mcp-sdk.cjs", external: true } : undefined),
};

const listed = licenses();

/** What every run needs is one file; each room, and each heavy file inside one, is a file that is loaded when it is used. */
export const program = {
  input: { main: "src/main.ts" },
  platform: "node",
  external: ["libsql"],
  plugins: [mcpSdkBeside, kernel(), raw(), page([listed]), listed],
  preserveEntrySignatures: "allow-extension",
  // What a file does not use of a room, its door does not bring along.
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

/** What a thread that helps with reading runs: one file by itself, of what the program holds too. */
const rangeReader = {
  input: { "range-reader": "src/check/range-reader.ts" },
  platform: "node",
  plugins: [kernel()],
  logLevel: "warn",
  output: { ...program.output, codeSplitting: false, cleanDir: false },
} satisfies RolldownOptions;

const mcpSdk = {
  input: { "mcp-sdk": "src/mcp/sdk.ts" },
  platform: "node",
  plugins: [listed],
  logLevel: "warn",
  output: { ...program.output, codeSplitting: false },
} satisfies RolldownOptions;

// The first makes the folder anew; the list of licences is written last by the program, for both.
export default [mcpSdk, { ...program, output: { ...program.output, cleanDir: false } }, rangeReader];
