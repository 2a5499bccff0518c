import { basename, dirname } from "node:path";
import type { RolldownOptions } from "rolldown";
import { kernel } from "./build/kernel.ts";
import { licenses } from "./build/licenses.ts";
import { page } from "./build/page.ts";
import { raw } from "./build/raw.ts";

const listed = licenses();

/** Files that a run loads together become one file with all that they import, but for what an earlier group has. */
const groups = {
  main: /\/src\/main\.ts$/,
  run: /\/src\/run\.ts$/,
  connect: /\/session\/(?:connect|options)\.ts$/,
  "print-failure": /\/output\/print-failure\.ts$/,
  message: /\/(?:conversation\/(?:chat-marks|message)|json\/(?:output-json|value))\.ts$/,
  trajectory: /\/(?:check\/trajectory|input\/decompress)\.ts$/,
  "read-rollouts": /\/(?:session\/(?:output-files|read-rollouts)|dataset\/check-result)\.ts$/,
};

/** The program: one file that every run needs, and files that are loaded when they are used. */
export const program = {
  input: "src/main.ts",
  platform: "node",
  // Its addon cannot be bundled.
  external: ["libsql"],
  plugins: [kernel(), raw(), page([listed]), listed],
  preserveEntrySignatures: "allow-extension",
  treeshake: {
    moduleSideEffects: [
      {
        test: /\/src\/(output|calls|rollouts\/(check|dataset|rules)|logging\/send)\//,
        sideEffects: false,
      },
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
    codeSplitting: {
      groups: Object.entries(groups).map(([name, test], at) => ({ name, test, priority: 99 - at })),
    },
    comments: { legal: true, annotation: false, jsdoc: false },
    cleanDir: true,
  },
} satisfies RolldownOptions;

export default program;
