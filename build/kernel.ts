/** Compiles the kernel (`kernel/`, AssemblyScript) to WebAssembly, and puts it into the program where it asks for it. */
import { readFileSync } from "node:fs";
import asc from "assemblyscript/asc";
import type { Plugin } from "rolldown";

/** The module whose text is made here: it holds the compiled kernel. */
const asked = /\/src\/trajectories\/read\/kernel\/program\.ts$/;

/** A plugin of rolldown and vite. */
export const kernel = (): Plugin => ({
  name: "kernel",
  async load(id) {
    if (!asked.test(id)) return undefined;
    compiled ??= compile();
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

const compile = async (): Promise<Uint8Array> => {
  let program: Uint8Array | undefined;
  const { error, stderr } = await asc.main(["kernel/index.ts", ...options], {
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
