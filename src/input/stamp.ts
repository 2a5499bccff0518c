/** Tells if input files were written to since they were read. */
import type { Host } from "../host.ts";
import { factsOf, folderAt } from "./folder.ts";
import { namesOf } from "./names.ts";
import { isRemote } from "./remote-names.ts";

/**
 * Returns a function that is true if one of the named files, or of those in named folders, has another size or time now, or
 * a file was added. Addresses, and files that are missing or empty now, count as unchanged. So does everything next to
 * standard input, which cannot be read again.
 */
export const openStamp = (names: readonly string[], host: Host): (() => boolean) => {
  if (names.length === 0 || names.includes("-")) return () => false;
  const given = namesOf(names, host).filter((name) => !isRemote(name));
  const look = () =>
    given
      .flatMap((name) => folderAt(name)?.files ?? [name])
      .flatMap((file) => {
        const facts = factsOf(file);
        return facts?.isFile() === true && facts.size > 0n ? [`${facts.size} ${facts.mtimeNs} ${file}`] : [];
      });
  const before = new Set(look());
  return () => look().some((file) => !before.has(file));
};
