/** Writes the licenses of the packages in the bundle to `dist/THIRD-PARTY-LICENSES`. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "rolldown";

export const licensesFile = "THIRD-PARTY-LICENSES";

/** A rolldown plugin that writes the list next to the bundle. Bundles with the same `folders` share the list. */
export const licenses = (folders = new Set<string>()): Plugin => ({
  name: "licenses",
  generateBundle(_options, bundle) {
    for (const output of Object.values(bundle)) {
      if (output.type !== "chunk") continue;
      for (const [id, { renderedLength }] of Object.entries(output.modules)) {
        if (renderedLength > 0 && id.includes("/node_modules/")) folders.add(folderOf(id));
      }
    }
    const inside = [...[...folders].map(bundledPackage), sampleFacts()];
    this.emitFile({ type: "asset", fileName: licensesFile, source: textOf(inside) });
  },
});

interface BundledPackage {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly text: string;
}

/** Returns the folder of a module's package. */
const folderOf = (module: string): string => {
  const [folder] = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(module) ?? [];
  if (folder === undefined) throw new Error(`no package around ${module}`);
  return folder;
};

const manifest = (file: string): Record<string, unknown> => JSON.parse(readFileSync(file, "utf8"));

const bundledPackage = (folder: string): BundledPackage => {
  const { name, version, license } = manifest(join(folder, "package.json"));
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
  const texts = files.sort().map((file) => readFileSync(join(folder, file), "utf8"));
  if (texts.length === 0) texts.push(...licenseInReadme(folder));
  if (texts.length === 0) throw new Error(`${name} has no license text in ${folder}`);
  return {
    name: String(name),
    version: String(version),
    license: String(license),
    text: texts.map((text) => text.replaceAll("\r\n", "\n").trim()).join("\n\n"),
  };
};

/** Some packages have the license only in the README. */
const licenseInReadme = (folder: string): readonly string[] => {
  const readme = readFileSync(join(folder, "README.md"), "utf8");
  const [, text] = /^#+ *licen[cs]e\s*\n([\s\S]*)/im.exec(readme) ?? [];
  return text?.includes("Permission is hereby granted") ? [text] : [];
};

/** The source of the facts in `src/service/sample-catalog.json`. */
const sampleFacts = (): BundledPackage => ({
  name: "models.dev, github.com/anomalyco/models.dev: facts in the sample catalogs",
  version: "f3fc692",
  license: "MIT",
  // models.dev has the license of rollcall, with another copyright holder.
  text: readFileSync("LICENSE", "utf8")
    .replace(/^Copyright .*$/m, "Copyright (c) 2025 models.dev")
    .trim(),
});

const textOf = (packages: readonly BundledPackage[]): string => {
  const rule = "-".repeat(80);
  const sorted = packages.toSorted((a, b) => (`${a.name} ${a.version}` < `${b.name} ${b.version}` ? -1 : 1));
  return [
    "rollcall contains code or facts of these, each under the license that follows its name.",
    ...sorted.map(({ name, version, license, text }) => `${rule}\n${name} ${version} (${license})\n${rule}\n\n${text}`),
    "",
  ]
    .join("\n\n")
    .replace(/\n+$/, "\n");
};
