/** Tells whether input files were written to since they were looked at. */
import { type Stats, statSync } from "node:fs";
import type { Host } from "../host.ts";
import { folderAt } from "./folder.ts";
import { namesOf } from "./names.ts";
import { isRemote } from "./remote-names.ts";

/**
 * Looks at the files of names, and at those in folders. Returns a function that is true if one of them has another size
 * or time now, or a file was added. What is at an address, and a file that is gone or empty now, counts as unchanged. So
 * does everything next to standard input, which can't be read again.
 */
export const openStamp = async (names: readonly string[], host: Host): Promise<() => boolean> => {
  if (names.length === 0 || names.includes("-")) return () => false;
  const given = (await namesOf(names, host)).filter((name) => !isRemote(name));
  const look = (): ReadonlyMap<string, string> =>
    new Map(
      given
        .flatMap((name) => folderAt(name)?.files ?? [name])
        .flatMap((file) => {
          const facts = factsOf(file);
          return facts?.isFile() === true && facts.size > 0 ? [[file, `${facts.size} ${facts.mtimeMs}`]] : [];
        }),
    );
  const before = look();
  return () => Array.from(look()).some(([file, facts]) => before.get(file) !== facts);
};

const factsOf = (file: string): Stats | undefined => {
  try {
    return statSync(file);
  } catch {
    return undefined;
  }
};
