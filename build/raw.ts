/** Lets a source file import another file's text: `import style from "./web-page.css?raw"`, as vite does in tests. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Plugin } from "rolldown";

const suffix = "?raw";

export const raw = (): Plugin => ({
  name: "raw",
  resolveId: (source, importer) =>
    source.endsWith(suffix) && importer !== undefined ? join(dirname(importer), source) : undefined,
  load: (id) =>
    id.endsWith(suffix)
      ? `export default ${JSON.stringify(readFileSync(id.slice(0, -suffix.length), "utf8"))};`
      : undefined,
});
