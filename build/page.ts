/** Bundles a program for the browser. Source files import its text: `import script from "./page/main.tsx?page"`. */
import { dirname, join } from "node:path";
import { type Plugin, rolldown } from "rolldown";

const suffix = "?page";

/** Creates a rolldown plugin. The plugins `inside` are for the bundle of the page. */
export const page = (inside: readonly Plugin[] = []): Plugin => ({
  name: "page",
  resolveId: (source, importer) =>
    source.endsWith(suffix) && importer !== undefined ? join(dirname(importer), source) : undefined,
  async load(id) {
    if (!id.endsWith(suffix)) return undefined;
    const build = await rolldown({
      input: id.slice(0, -suffix.length),
      platform: "browser",
      // The tsconfig.json of the page configures JSX.
      transform: { target: "es2022" },
      plugins: [...inside],
      logLevel: "warn",
    });
    const { output } = await build.generate({
      format: "iife",
      // Every page that `view --html` writes contains this text.
      minify: true,
      comments: { legal: false, annotation: false, jsdoc: false },
    });
    await build.close();
    return `export default ${JSON.stringify(output[0].code)};`;
  },
});
