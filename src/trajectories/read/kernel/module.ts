/** Compiles the kernel that reads lines fast. */
import { setFlagsFromString } from "node:v8";
import type { KernelModule } from "./kernel.ts";
import { kernelProgram } from "./program.ts";

/** Node has it, and its types don't. */
declare const WebAssembly: { readonly Module: new (bytes: Uint8Array) => KernelModule };

/** Compiled once, whatever is read with it. */
let compiled: KernelModule | undefined;

/** Whether WebAssembly is compiled as Node does it by itself. */
let isAsUsual = true;

/** The kernel; undefined where it can't be compiled, and lines are read without it. */
export const compileKernel = (): KernelModule | undefined => {
  if (kernelProgram === "") return undefined;
  try {
    // What runs for a fifth of a second is slowest where it is compiled quickly first, and well later. Its functions are
    // compiled when they are called first.
    setFlagsFromString("--no-liftoff");
    isAsUsual = false;
    compiled ??= new WebAssembly.Module(Buffer.from(kernelProgram, "base64"));
  } catch {
    // A processor without SIMD, or a Node without WebAssembly.
  }
  return compiled;
};

/** From now on WebAssembly is compiled as usual: that of the client runs too briefly to be compiled well. */
export const kernelIsCompiled = (): void => {
  if (!isAsUsual) setFlagsFromString("--liftoff");
  isAsUsual = true;
};
