/** Reads documents next to inputs, which their records refer to. */
import { basename, dirname, join } from "node:path";
import { getErrorCode, readRegularFile } from "../files.ts";
import { inputUnreadable } from "../input/failures.ts";
import { isRemote, maxDocumentBytes, type Source } from "../input/index.ts";
import { bomLength } from "../json/walk.ts";
import { Value } from "./value.ts";

/** Bytes of documents in memory. */
const maxStoredBytes = 2 ** 26;

/** Opens documents next to inputs and keeps the latest. Next to a remote file, only other inputs can be read. */
export const openDocuments = (sources: readonly Source[]) => {
  const remotes = new Map(sources.flatMap((source) => (isRemote(source.name) ? [[join(source.name), source]] : [])));
  const existing = new Set<string>();
  const inMemory = new Map<string, Value | undefined>();
  let size = 0;
  const load = (name: string, read: () => Buffer | undefined): Value | undefined => {
    if (inMemory.has(name)) return inMemory.get(name);
    const all = read();
    const bytes = all?.subarray(bomLength(all));
    const value = bytes && Value.parse(bytes, { document: name });
    if (bytes !== undefined) existing.add(name);
    size += bytes?.length ?? 0;
    if (size > maxStoredBytes) {
      inMemory.clear();
      size = bytes?.length ?? 0;
    }
    inMemory.set(name, value);
    return value;
  };
  return {
    /** The names of all existing documents. */
    existing,
    load,
    /** Returns the document at a path from a file; undefined if there is none. */
    documentAt: (file: string, path: string): Value | undefined => {
      const name = join(dirname(file), path);
      const remote = remotes.get(name);
      if (remote !== undefined) return load(remote.name, () => readSource(remote));
      return file === "-" || isRemote(file) ? undefined : load(name, () => readDocumentFile(name));
    },
  };
};

const readSource = ({ bytes }: Source): Buffer | undefined => {
  if (bytes.size > maxDocumentBytes) return undefined;
  const whole = Buffer.allocUnsafe(bytes.size);
  return whole.subarray(0, bytes.readSync(whole, 0));
};

const readDocumentFile = (path: string): Buffer | undefined => {
  try {
    return readRegularFile(path);
  } catch (thrown) {
    const code = getErrorCode(thrown);
    if (["ENOENT", "ENOTDIR", "EISDIR"].includes(code)) return undefined;
    throw inputUnreadable(basename(path), code, { cause: thrown });
  }
};
