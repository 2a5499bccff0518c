/**
 * Compiles the sources for tests: each module to a file, and the page to one. Node loads these files in a third of the
 * processor time of modules that vite transforms, and calls between them are faster.
 */
import { existsSync, readdirSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { type Plugin, rolldown } from "rolldown";
import { kernel } from "./kernel.ts";
import { raw } from "./raw.ts";

const folder = "node_modules/.cache/test-sources";
/** The script of the page, which is written last. */
export const testPage = `${folder}/page.js`;

/** Only a browser draws the pages that `view` writes, from the built program. Other tests read only their data. */
const emptyPages: Plugin = {
  name: "empty-pages",
  resolveId: (source) => (/\?page$|\.css\?raw$/.test(source) ? "\0empty" : undefined),
  load: (id) => (id === "\0empty" ? 'export default "";' : undefined),
};

const common = {
  platform: "node",
  external: /^[^./\0]/,
  logLevel: "warn",
  treeshake: false,
} as const;

const isModule = (path: string) => path.endsWith(".ts") && !/\.d\.ts$|^src\/(json\/kernel|view\/page)\//.test(path);

/** Writes the compiled sources. */
export const compileTestSources = async (): Promise<void> => {
  const paths = readdirSync("src", { recursive: true, encoding: "utf8" }).map((path) => join("src", path));
  const input = paths.filter(isModule);
  const modules = await rolldown({ ...common, input, plugins: [emptyPages, kernel(), raw()] });
  const preserved = { preserveModules: true, preserveModulesRoot: "src", entryFileNames: "[name].js" };
  await modules.write({ dir: folder, cleanDir: true, sourcemap: true, ...preserved });
  const page = await rolldown({ ...common, input: "src/view/page/main.tsx" });
  await page.write({ file: testPage, sourcemap: true });
  await Promise.all([modules.close(), page.close()]);
};

/** Creates a plugin for vite that imports the compiled sources. */
export const testSources = (): Plugin => ({
  name: "test-sources",
  resolveId: {
    order: "pre",
    handler: (source, importer = "") => {
      const path = relative("src", resolve(dirname(importer), source));
      const compiled = resolve(folder, path.replace(/\.ts$/, ".js"));
      return source.startsWith(".") && !path.startsWith("..") && existsSync(compiled) ? compiled : undefined;
    },
  },
});
