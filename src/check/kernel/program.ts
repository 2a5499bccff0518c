/** The kernel, compiled: the build puts it here (build/kernel.ts). */

/** A program of WebAssembly in base64; empty where nothing was built. */
export const program: string = "";
