/** The script of the page of `rollcall view`, bundled for a browser (build/page.ts). */
declare module "*?page" {
  const script: string;
  export default script;
}

/** The text of a file (build/raw.ts). */
declare module "*?raw" {
  const text: string;
  export default text;
}
