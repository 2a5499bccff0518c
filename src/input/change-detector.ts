/** Detects changes of input files. */
import type { Host } from "../host.ts";
import { expandPatterns } from "./expand-names.ts";
import { listFolder, tryStat } from "./folder.ts";
import { isRemote } from "./remote-urls.ts";

/**
 * Returns a function that is true if the size or time of a file changed, or a folder has a new file. URLs, and files that are
 * missing or empty now, count as unchanged. So does everything if standard input is an input, because it cannot be read again.
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
