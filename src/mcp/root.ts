/** Opens files of the only folder that tools may read. */

import { closeSync, constants, existsSync, fstatSync, openSync, realpathSync, statSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { Failure } from "../failure.ts";
import { inputChanged } from "../rollouts/rules/failures.ts";
import { invalidOptionValue } from "../system/failures.ts";
import { ignoreErrors } from "../system/files.ts";

export interface RootFile {
  /** On Linux, the path of the descriptor, so that rollcall never reads a replaced file. */
  readonly path: string;
  readonly name: string;
  /** @throws Failure `input-changed` if `path` leads to another file now */
  close(): void;
}

/** Refuses paths and symbolic links that lead out of the folder. @throws Failure `root-file-missing` */
export type RootFileOpener = (path: string) => RootFile;

export const openRoot = (root: string): RootFileOpener => {
  const folder = ignoreErrors(() => (statSync(root).isDirectory() ? realpathSync(root) : undefined));
  if (folder === undefined) throw invalidOptionValue("--root", root, "a readable folder");
  return (path) => {
    try {
      return openInside(folder, resolve(folder, path));
    } catch {
      // All errors have the same message, so that a client cannot detect files outside of the root.
      const hint = "pass the path of a file inside the root folder (no folder, no URL, no link that leads outside)";
      throw new Failure("invalid_input", "root-file-missing", `no file ${path} in the root folder`, { hint });
    }
  };
};

const isInside = (folder: string, path: string) => path.startsWith(join(folder, sep));

/** With O_NONBLOCK, opening a pipe does not wait for a writer. */
const openFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const descriptorFolder = "/proc/self/fd";

const openInside = (folder: string, candidate: string): RootFile => {
  const real = realpathSync(candidate);
  if (!isInside(folder, real)) throw new Error("outside");
  const descriptor = openSync(real, openFlags);
  try {
    const path = existsSync(descriptorFolder) ? `${descriptorFolder}/${descriptor}` : real;
    const facts = fstatSync(descriptor, { bigint: true });
    // Another process may replace a folder with a link after the first check.
    if (!facts.isFile() || !isInside(folder, realpathSync(path))) throw new Error("outside");
    const name = relative(folder, real).split(sep).join("/");
    return {
      path,
      name,
      close() {
        const current = path === real ? ignoreErrors(() => statSync(real, { bigint: true })) : facts;
        closeSync(descriptor);
        if (current?.ino !== facts.ino || current.dev !== facts.dev) throw inputChanged(name);
      },
    };
  } catch (thrown) {
    closeSync(descriptor);
    throw thrown;
  }
};
