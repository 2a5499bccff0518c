/** Opens the inputs of a command line: files, folders, standard input, pipes and URLs. */

import { Problems } from "../check/rules/problems.ts";
import { expandFolders, expandPatterns } from "./expand-names.ts";
import { duplicateStdin, inputMissing, UnusableInput } from "./failures.ts";
import { isRemote, reportEmptyFolders } from "./names.ts";
import { type InputOptions, openInput } from "./open-input.ts";
import type { RemoteAccess } from "./remote.ts";
import type { Source } from "./source.ts";

/** Open inputs, converted if they are in another tool's format. */
export interface ConvertedInputs<Conversion> {
  readonly sources: readonly Source[];
  /** Undefined if nothing was converted. */
  readonly conversion?: Conversion | undefined;
  /** Files of folders without rollouts, which were skipped. */
  readonly others: readonly string[];
}

/** The inputs of a run, and the problems of inputs that could not be opened. */
interface Inputs<Conversion> extends ConvertedInputs<Conversion> {
  readonly problems: Problems;
  /** Repeated names of files. */
  readonly repeated: readonly string[];
}

export interface ConvertibleInputs extends Pick<InputOptions, "host" | "maxUnpackedBytes"> {
  readonly sources: readonly Source[];
  readonly problems: Problems;
  /** The folder of each file from one. */
  readonly folders: ReadonlyMap<string, string>;
}

interface OpenOptions<Conversion> extends Pick<InputOptions, "host" | "maxUnpackedBytes"> {
  readonly files: readonly string[];
  /** Default: all inputs are in rollcall's format. */
  readonly convert?: ((inputs: ConvertibleInputs) => Promise<ConvertedInputs<Conversion>>) | undefined;
  /** True if archives and Parquet files can be inputs. */
  readonly takesContainers?: boolean;
  /** Default: URLs are names of files. */
  readonly remote?: RemoteAccess | undefined;
}

/** With more inputs, uncompressed files are opened when they are read, because descriptors are limited. */
const maxOpenFiles = 64;

/**
 * Opens inputs in the given order. Default: standard input. The caller closes the sources.
 * @throws Failure `input-missing`, `duplicate-stdin`, `spool-failed`, `interrupted`, `remote-…`
 */
export const openInputs = async <Conversion>({
  remote,
  ...options
}: OpenOptions<Conversion>): Promise<Inputs<Conversion>> => {
  const { host, files } = options;
  if (files.length === 0 && host.terminal.stdin) throw inputMissing();
  if (files.filter((name) => name === "-").length > 1) throw duplicateStdin();
  const given = expandPatterns(files.length === 0 ? ["-"] : files, host);
  const hasRemotes = remote !== undefined && given.some(isRemote);
  const remotes = hasRemotes ? await (await import("./remote.ts")).openRemotes(remote) : undefined;
  try {
    return await openNames(given, { ...options, remotes });
  } finally {
    remotes?.close();
  }
};

const openNames = async <Conversion>(
  given: readonly string[],
  { remotes, ...options }: OpenOptions<Conversion> & Pick<InputOptions, "remotes">,
): Promise<Inputs<Conversion>> => {
  const { host, maxUnpackedBytes, convert, takesContainers = false } = options;
  const problems = new Problems();
  const takesFolders = convert !== undefined;
  const { names, folders, repeated } = await expandFolders(given, { problems, remotes, takesFolders });
  const sources: Source[] = [];
  const emptyFiles: string[] = [];
  const isReopened = names.length > maxOpenFiles;
  const opening = { host, isReopened, maxUnpackedBytes, takesContainers, remotes };
  try {
    for (const name of names) {
      try {
        sources.push(await openInput(name, opening));
      } catch (thrown) {
        if (!(thrown instanceof UnusableInput)) throw thrown;
        if (thrown.rule === "input-empty" && folders.has(name)) emptyFiles.push(name);
        else thrown.report(problems, name);
      }
    }
    reportEmptyFolders(folders, { others: emptyFiles, problems });
    for (const name of emptyFiles) folders.delete(name);
    if (convert !== undefined) {
      const converted = await convert({ sources, folders, host, problems, maxUnpackedBytes });
      return { problems, ...converted, others: [...emptyFiles, ...converted.others], repeated };
    }
  } catch (thrown) {
    for (const { bytes } of sources) await bytes.close();
    throw thrown;
  }
  return { sources, problems, others: emptyFiles, repeated };
};
