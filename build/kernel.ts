/** Compiles the programs of `kernel/` and `src/json/kernel/` (AssemblyScript) to WebAssembly, and puts them into the program where it asks for them. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import type { Plugin } from "rolldown";

/** The modules whose texts are made here, each of which holds a compiled program, and what that is compiled from. */
const asked = [
  { module: /\/src\/check\/kernel\/program\.ts$/, entry: "kernel/index.ts" },
  { module: /\/src\/json\/program\.ts$/, entry: "src/json/kernel/index.ts" },
];

/** A plugin of rolldown and vite. */
export const kernel = (): Plugin => ({
  name: "kernel",
  async load(id) {
    const entry = asked.find(({ module }) => module.test(id))?.entry;
    if (entry === undefined) return undefined;
    const program = compiled.get(entry) ?? keptOrCompiled(entry);
    compiled.set(entry, program);
    return `export const program = ${JSON.stringify(Buffer.from(await program).toString("base64"))};`;
  },
});

const compiled = new Map<string, Promise<Uint8Array>>();

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

/** Compiling takes five seconds, so what became of these sources is kept. */
const keptOrCompiled = async (entry: string): Promise<Uint8Array> => {
  const folders = ["kernel", "src/json/kernel"];
  const own = folders.flatMap((folder) => readdirSync(folder).map((name) => `${folder}/${name}`));
  const madeOf = ["package-lock.json", ...own].toSorted();
  const sources = madeOf.map((path) => `${path}\n${readFileSync(path, "utf8")}`);
  const hash = createHash("sha256").update([entry, ...options, ...sources].join("\n"));
  const kept = `${folder}/${hash.digest("hex")}.wasm`;
  if (!existsSync(kept)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(`${kept}.${process.pid}`, await compile(entry));
    renameSync(`${kept}.${process.pid}`, kept);
  }
  return readFileSync(kept);
};

const folder = "node_modules/.cache/kernel";

const compile = async (entry: string): Promise<Uint8Array> => {
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
