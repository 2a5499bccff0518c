/** Opens the inputs named on the command line: files, standard input, pipes, compressed or plain. */

import { Problems } from "../check/rules/problems.ts";
import { Failure } from "../failure.ts";
import type { Conversion, Convert } from "../formats/index.ts";
import { reportWithout } from "./folder.ts";
import { namesOf, unfolded } from "./names.ts";
import { type Opening, openInput } from "./opened.ts";
import type { RemoteAccess } from "./remote.ts";
import { isRemote } from "./remote-names.ts";
import { OneOpenFile, type Source } from "./source.ts";
import { openSharedKeeper } from "./spool.ts";

/** The inputs of a run, and what was wrong with those that could not be opened. */
interface Inputs {
  readonly sources: readonly Source[];
  readonly problems: Problems;
  /** What was converted of other tools' files; undefined where nothing was. */
  readonly conversion?: Conversion | undefined;
  /** Files of folders that were left out, since they hold no rollouts. */
  readonly others?: readonly string[] | undefined;
  /** Names of files that another name stands for already. */
  readonly repeated: readonly string[];
}

/** How inputs are opened. */
interface OpenOptions extends Pick<Opening, "host" | "maxUnpackedBytes"> {
  readonly files: readonly string[];
  /** Converts inputs of other tools. Default: all inputs have rollcall's format. */
  readonly convert?: Convert | undefined;
  /** True if archives and Parquet files are inputs too. */
  readonly takesContainers?: boolean;
  /** How inputs that are addresses are reached; where nothing is said, they are names of files as all others. */
  readonly remote?: RemoteAccess | undefined;
}

/**
 * Opens inputs in the order named; with none named, standard input. The sources must be closed.
 * @throws Failure `input-missing`, `input-twice`, `spool-failed`, `interrupted`
 */
export const openInputs = async ({ remote, ...options }: OpenOptions): Promise<Inputs> => {
  const { host, files } = options;
  if (files.length === 0 && host.terminal.stdin) throw new Failure("input-missing", {});
  if (files.filter((name) => name === "-").length > 1) throw new Failure("input-twice", {});
  const given = await namesOf(files.length === 0 ? ["-"] : files, host);
  const isFar = remote !== undefined && given.some(isRemote);
  const remotes = isFar ? await (await import("./remote.ts")).openRemotes(remote) : undefined;
  try {
    return await openNames(given, { ...options, remotes });
  } finally {
    remotes?.close();
  }
};

/** Opens files by their names, and converts what is another tool's. */
const openNames = async (
  given: readonly string[],
  { host, maxUnpackedBytes, convert, takesContainers = false, remotes }: OpenOptions & Pick<Opening, "remotes">,
): Promise<Inputs> => {
  const problems = new Problems();
  const { names, folders, repeated } = await unfolded(given, { problems, remotes, foldersToo: convert !== undefined });
  const sources: Source[] = [];
  const empty: string[] = [];
  // What stays open can be read even where somebody deletes it; so many descriptors are left to a run everywhere.
  const reopened = names.length > mostOpen ? new OneOpenFile() : undefined;
  const openKeeper = reopened !== undefined && remotes !== undefined ? openSharedKeeper(host) : undefined;
  try {
    for (const name of names) {
      const opened = await openInput(name, { host, reopened, maxUnpackedBytes, takesContainers, remotes, openKeeper });
      if (!("rule" in opened)) sources.push(opened);
      else if (opened.rule === "input-empty" && folders.has(name)) empty.push(name);
      else opened.report(problems);
    }
    reportWithout(folders, { others: empty, problems });
    for (const name of empty) folders.delete(name);
    if (convert !== undefined) {
      const made = await convert({ sources, folders, host, problems, maxUnpackedBytes });
      return { problems, ...made, others: [...empty, ...made.others], repeated };
    }
  } catch (thrown) {
    for (const { bytes } of sources) await bytes.close();
    throw thrown;
  }
  return { sources, problems, others: empty, repeated };
};

/** Files that stay open: of more than these, each is opened when it is read, and closed again. */
const mostOpen = 64;
