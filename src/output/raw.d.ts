/** A file's own text, which the build puts into the program (build/raw.ts). */
declare module "*?raw" {
  const text: string;
  export default text;
}
