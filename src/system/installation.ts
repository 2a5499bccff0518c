/** Finds how this program was installed. */
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { ignoreErrors } from "./files.ts";

/** @returns the kind, such as `npm global`, and the folder of the program */
export const findInstallation = () => {
  let folder = import.meta.dirname;
  while (!existsSync(join(folder, "package.json"))) folder = dirname(folder);
  return { kind: readKind(folder) ?? findKind(folder), folder };
};

/** A Python package and an image name their kind in a file. */
const readKind = (folder: string) =>
  ignoreErrors(() => readFileSync(join(folder, "installed-as"), "utf8").split(/\s/, 1)[0]);

const findKind = (folder: string) => {
  if (existsSync(join(folder, "src"))) return "clone";
  const parent = basename(dirname(dirname(folder)));
  return parent === "lib" || parent === "npm" ? "npm global" : "npm local";
};
