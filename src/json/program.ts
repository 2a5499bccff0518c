/** The compiled kernel in base64, which the build inserts (build/kernel.ts). Empty without a build. */
export const program: string = "";
