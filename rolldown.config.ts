import type { RolldownOptions } from "rolldown";
import { kernel } from "./build/kernel.ts";
import { leanUndici } from "./build/lean-undici.ts";
import { licenses } from "./build/licenses.ts";
import { ownZod } from "./build/own-zod.ts";
import { raw } from "./build/raw.ts";
import { unspawned } from "./build/unspawned.ts";

/** What every run needs is one file; each room, and each heavy file inside one, is a file that is loaded when it is used. */
export const program = {
  input: { main: "src/main.ts" },
  platform: "node",
  external: ["libsql"],
  plugins: [unspawned(), leanUndici(), ownZod(), kernel(), raw(), licenses()],
  preserveEntrySignatures: "allow-extension",
  logLevel: "warn",
  output: {
    dir: "dist",
    // Node sets up its loader of ES modules only for programs that need it, and takes 5 ms for that.
    format: "cjs",
    entryFileNames: "[name].cjs",
    chunkFileNames: "[name].cjs",
    codeSplitting: {
      groups: [
        { name: "main", test: /^\0rolldown\/runtime|\/src\/main\.ts$/ },
        // What every run stands on.
        { name: "run", test: /\/src\/run\.ts$/ },
      ],
    },
    comments: { legal: true, annotation: false, jsdoc: false },
    cleanDir: true,
  },
} satisfies RolldownOptions;

/** What a thread that helps with reading runs: one file by itself, of what the program holds too. */
const rangeReader = {
  input: { "range-reader": "src/trajectories/scan/range-reader.ts" },
  platform: "node",
  logLevel: "warn",
  output: { ...program.output, codeSplitting: false, cleanDir: false },
} satisfies RolldownOptions;

export default [program, rangeReader];
