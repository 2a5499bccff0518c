/** Compiles `src/json/kernel/` (AssemblyScript) to WebAssembly and embeds it in rollcall. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import type { Plugin } from "rolldown";

/** The module that exports the compiled program. */
const programModule = /\/src\/json\/kernel-code\.ts$/;
const sourceFolder = "src/json/kernel";
const entry = `${sourceFolder}/index.ts`;

/** Creates a plugin for rolldown and vite. */
export const kernel = (): Plugin => ({
  name: "kernel",
  async load(id) {
    if (!programModule.test(id)) return undefined;
    compiled ??= loadOrCompile();
    return `export const kernelProgram = ${JSON.stringify(Buffer.from(await compiled).toString("base64"))};`;
  },
});

let compiled: Promise<Uint8Array> | undefined;

const options = [
  "--enable",
  "simd",
  "--runtime",
  "stub",
  "-O3",
  "--noAssert",
  "--use",
  "abort=",
  "--outFile",
  "kernel",
];

const cacheFolder = "node_modules/.cache/kernel";

/** Compiling takes five seconds, so the program is cached by the digest of its sources. */
const loadOrCompile = async (): Promise<Uint8Array> => {
  const own = readdirSync(sourceFolder).map((name) => `${sourceFolder}/${name}`);
  const sources = ["package-lock.json", ...own.toSorted()].map((path) => `${path}\n${readFileSync(path, "utf8")}`);
  const hash = createHash("sha256").update([...options, ...sources].join("\n"));
  const stored = `${cacheFolder}/${hash.digest("hex")}.wasm`;
  if (!existsSync(stored)) {
    mkdirSync(cacheFolder, { recursive: true });
    writeFileSync(`${stored}.${process.pid}`, await compile());
    renameSync(`${stored}.${process.pid}`, stored);
  }
  return readFileSync(stored);
};

const compile = async (): Promise<Uint8Array> => {
  const { default: asc } = await import("assemblyscript/asc");
  let program: Uint8Array | undefined;
  const { error, stderr } = await asc.main([entry, ...options], {
    readFile: (name) => textOf(name),
    writeFile: (_name, contents) => {
      if (typeof contents !== "string") program = contents;
    },
    listFiles: () => [],
  });
  if (error !== null || program === undefined) throw new Error(`cannot compile the kernel\n${stderr.toString()}`);
  return program;
};

const textOf = (name: string): string | null => {
  try {
    return readFileSync(name, "utf8");
  } catch {
    return null;
  }
};
