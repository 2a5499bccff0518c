/** Tells if input files were written to since they were read. */
import type { Host } from "../host.ts";
import { expandPatterns } from "./expand-names.ts";
import { listFolder, tryStat } from "./folder.ts";
import { isRemote } from "./remote-urls.ts";

/**
 * Returns a function that is true if one of the named files, or of those in named folders, has another size or time now, or
 * a file was added. Addresses, and files that are missing or empty now, count as unchanged. So does everything next to
 * standard input, which cannot be read again.
 */
export const createChangeDetector = (names: readonly string[], host: Host): (() => boolean) => {
  if (names.length === 0 || names.includes("-")) return () => false;
  const given = expandPatterns(names, host).filter((name) => !isRemote(name));
  const listFacts = () =>
    given
      .flatMap((name) => listFolder(name)?.files ?? [name])
      .flatMap((file) => {
        const facts = tryStat(file);
        return facts?.isFile() === true && facts.size > 0n ? [`${facts.size} ${facts.mtimeNs} ${file}`] : [];
      });
  const before = new Set(listFacts());
  return () => listFacts().some((file) => !before.has(file));
};
