/** The one folder that tools may read files below: however a path is written, what is read stands in there. */
import { closeSync, constants, existsSync, fstatSync, openSync, realpathSync, statSync } from "node:fs";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { Failure } from "../failure.ts";
import { invalidOptionValue } from "../failures.ts";
import { inputChanged } from "../input/index.ts";

/** A file below the root, open. */
export interface RootFile {
  /** Where it is read: by its descriptor, where the system has a path for that, whatever has its name by then. */
  readonly path: string;
  /** Its path from the root on, without any link: what a client is shown. */
  readonly name: string;
  /** @throws Failure `input-changed` where something else was put in its place before it was read by its name */
  close(): void;
}

/** The folder. */
export interface Root {
  /**
   * Opens a file by its path from the root, or by a whole path that leads into it.
   * @throws Failure `root-file-missing`, the same for what is not there and for what is elsewhere: nobody learns of files outside
   */
  open(path: string): RootFile;
}

/** Opens the root. @throws Failure `invalid-option-value` */
export const openRoot = (typed: string): Root => {
  const folder = tryOrUndefined(() => realpathSync(typed));
  if (folder === undefined || !statSync(folder).isDirectory()) {
    throw invalidOptionValue({ option: "--root", value: typed, wanted: "a folder that can be read" });
  }
  return {
    open(path) {
      // A client may know the folder by the name that it was given, which may be a link.
      const paths = [resolve(folder, path), resolve(folder, relative(resolve(typed), resolve(folder, path)))];
      const file = tryOrUndefined(() => openInside(folder, paths.find((one) => isInside(folder, one)) ?? folder));
      if (file !== undefined) return file;
      // Which of the three it is, nobody is told: not there, no file, or elsewhere.
      throw new Failure("invalid_input", "root-file-missing", `there is no file ${path} below the root`, {
        hint: "give a path from the folder that --root names; links that lead out of it are not followed",
      });
    },
  };
};

const tryOrUndefined = <Value>(work: () => Value): Value | undefined => {
  try {
    return work();
  } catch {
    return undefined;
  }
};

const isInside = (folder: string, path: string): boolean => {
  const way = relative(folder, path);
  return way !== "" && way !== ".." && !way.startsWith(join("..", sep)) && !isAbsolute(way);
};

/** Opening a pipe does not wait for its writer. */
const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;

/** What leads to an open file by its descriptor: Linux has it. */
const descriptorFolder = "/proc/self/fd";

/** Opens a file by its whole path. @throws what the system says, and where it is not below the folder or is no file */
const openInside = (folder: string, asked: string): RootFile => {
  const real = realpathSync(asked);
  if (!isInside(folder, real)) throw new Error("outside");
  const steps = relative(folder, real).split(sep);
  const hasDescriptorPaths = existsSync(descriptorFolder);
  const descriptor = hasDescriptorPaths ? openSteps(folder, steps) : openSync(real, O_RDONLY | O_NONBLOCK);
  const facts = fstatSync(descriptor, { bigint: true });
  if (!facts.isFile()) {
    closeSync(descriptor);
    throw new Error("no file");
  }
  const name = steps.join("/");
  return {
    path: hasDescriptorPaths ? `${descriptorFolder}/${descriptor}` : real,
    name,
    close() {
      closeSync(descriptor);
      const now = hasDescriptorPaths ? facts : statSync(real, { bigint: true, throwIfNoEntry: false });
      if (now?.ino !== facts.ino || now.dev !== facts.dev) throw inputChanged(name);
    },
  };
};

/** Goes from an open folder to the next: no step follows a link, whatever is put in its place meanwhile. */
const openSteps = (folder: string, [name = "", ...rest]: readonly string[]): number => {
  const above = openSync(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    const path = `${descriptorFolder}/${above}/${name}`;
    return rest.length > 0 ? openSteps(path, rest) : openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } finally {
    closeSync(above);
  }
};
