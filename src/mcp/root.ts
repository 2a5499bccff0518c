/** The one folder that tools may read files below: however a path is written, what it leads to stands in there. */
import { realpathSync, statSync } from "node:fs";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { Failure } from "../failure.ts";

/** A file below the root. */
export interface RootFile {
  /** Where it really is, without any link. */
  readonly path: string;
  /** The same from the root on: what a client is shown. */
  readonly name: string;
  /** @throws Failure `input-changed` where the path leads to something else by now */
  assertSame(): void;
}

/** The folder. */
export interface Root {
  readonly folder: string;
  /**
   * A file by its path from the root, or by a whole path that leads into it.
   * @throws Failure `root-file-missing`, the same for what is not there and for what is elsewhere: nobody learns of files outside
   */
  file(path: string): RootFile;
}

/** Opens the root. @throws Failure `option-value-wrong` */
export const openRoot = (typed: string): Root => {
  const folder = realFolder(typed);
  if (folder === undefined) {
    throw new Failure("option-value-wrong", { option: "--root", value: typed, wanted: "a folder that can be read" });
  }
  // A client may know the folder by the name that it was given, which may be a link.
  const find = (path: string) =>
    fileBelow(folder, path) ?? fileBelow(folder, relative(resolve(typed), resolve(folder, path)));
  return {
    folder,
    file(typedPath) {
      const found = find(typedPath);
      if (found === undefined) throw new Failure("root-file-missing", { file: typedPath });
      const { path, identity } = found;
      const name = relative(folder, path).split(sep).join("/");
      return {
        path,
        name,
        assertSame() {
          if (find(typedPath)?.identity !== identity) throw new Failure("input-changed", { file: name });
        },
      };
    },
  };
};

const realFolder = (typed: string): string | undefined => {
  try {
    const folder = realpathSync(typed);
    return statSync(folder).isDirectory() ? folder : undefined;
  } catch {
    return undefined;
  }
};

/** A regular file below the folder, and what tells it from others; undefined for anything else. */
const fileBelow = (folder: string, typed: string): { readonly path: string; readonly identity: string } | undefined => {
  // Nothing outside is even looked at, unless a link inside leads there.
  const asked = resolve(folder, typed);
  if (typed.includes("\0") || !isBelow(folder, asked)) return undefined;
  try {
    const path = realpathSync(asked);
    if (!isBelow(folder, path)) return undefined;
    const { dev, ino } = statSync(path, { bigint: true });
    return statSync(path).isFile() ? { path, identity: `${path} ${dev} ${ino}` } : undefined;
  } catch {
    return undefined;
  }
};

const isBelow = (folder: string, path: string): boolean => {
  const way = relative(folder, path);
  return way !== "" && way !== ".." && !way.startsWith(join("..", sep)) && !isAbsolute(way);
};
