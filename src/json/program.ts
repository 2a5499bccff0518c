/** The compiled kernel in base64 (build/kernel.ts). Empty without a build. */
export const program: string = "";
