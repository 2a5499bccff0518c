/** Makes folders for their owner alone. */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Makes a folder, mode 0700, and those above it, as far as they are not there. Node's own way of doing that never comes
 * back from places where nothing can be made, such as `/proc`.
 * @throws what the file system says
 */
export const makeFolder = (path: string): void => {
  const wrong = tryMake(path);
  if (wrong === undefined) return;
  if (codeOf(wrong) !== "ENOENT" || dirname(path) === path) throw wrong;
  makeFolder(dirname(path));
  const still = tryMake(path);
  if (still !== undefined) throw still;
};

/** What is wrong where there is no such path afterwards. */
const tryMake = (path: string): unknown => {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (thrown) {
    if (codeOf(thrown) !== "EEXIST") return thrown;
  }
  return undefined;
};

const codeOf = (thrown: unknown): unknown => (thrown instanceof Error && "code" in thrown ? thrown.code : undefined);
