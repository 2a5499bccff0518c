/** Compiles the program of `src/json/kernel/` (AssemblyScript) to WebAssembly, and puts it into rollcall. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import type { Plugin } from "rolldown";

/** The module whose text is made here, and what it is compiled from. */
const asking = /\/src\/json\/program\.ts$/;
const sourceFolder = "src/json/kernel";
const entry = `${sourceFolder}/index.ts`;

/** A plugin of rolldown and vite. */
export const kernel = (): Plugin => ({
  name: "kernel",
  async load(id) {
    if (!asking.test(id)) return undefined;
    compiled ??= storedOrCompiled();
    return `export const program = ${JSON.stringify(Buffer.from(await compiled).toString("base64"))};`;
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

/** Compiling takes five seconds, so the program is stored by its sources. */
const storedOrCompiled = async (): Promise<Uint8Array> => {
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
  if (error !== null || program === undefined) throw new Error(`the kernel can't be compiled\n${stderr.toString()}`);
  return program;
};

const textOf = (name: string): string | null => {
  try {
    return readFileSync(name, "utf8");
  } catch {
    return null;
  }
};
