/** The compiled kernel in base64, which build/kernel.ts inserts. */
export const kernelProgram: string = "";
