/** The compiled kernel, which the build inserts (build/kernel.ts). */

/** WebAssembly in base64; empty without a build. */
export const program: string = "";
