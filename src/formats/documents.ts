/** Reads documents next to inputs. The last ones stay in memory, for the next record that asks for them. */

import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { codeOf } from "../files.ts";
import { inputUnreadable } from "../input/failures.ts";
import { isRemote, longestDocument, type Source } from "../input/index.ts";
import { markLength } from "../json/walk.ts";
import { Value } from "./value.ts";

/** Bytes of documents that are in memory. */
const maxBytes = 2 ** 26;

export interface Documents {
  readonly read: ReadonlySet<string>;
  /** The document at a path from a file; undefined if there is none. */
  at(file: string, path: string): Value | undefined;
  /** The document of a name, which is read if it is not in memory. */
  from(name: string, read: () => Buffer | undefined): Value | undefined;
}

/** Opens the documents next to these inputs. A file at an address has those that are inputs too. */
export const openDocuments = (sources: readonly Source[]): Documents => {
  const remotes = new Map(sources.flatMap((source) => (isRemote(source.name) ? [[join(source.name), source]] : [])));
  const existing = new Set<string>();
  const inMemory = new Map<string, Value | undefined>();
  let size = 0;
  const from: Documents["from"] = (name, read) => {
    if (inMemory.has(name)) return inMemory.get(name);
    const all = read();
    const bytes = all?.subarray(markLength(all));
    const value = bytes && Value.of(bytes, { document: name });
    if (bytes !== undefined) existing.add(name);
    size += bytes?.length ?? 0;
    for (const [oldest, document] of inMemory) {
      if (size <= maxBytes) break;
      inMemory.delete(oldest);
      size -= document?.bytes.length ?? 0;
    }
    inMemory.set(name, value);
    return value;
  };
  return {
    read: existing,
    from,
    at: (file, path) => {
      const name = join(dirname(file), path);
      const remote = remotes.get(name);
      if (remote !== undefined) return from(remote.name, () => readWhole(remote));
      return file === "-" || isRemote(file) ? undefined : from(name, () => readDocument(name));
    },
  };
};

/** Reads all of a stored source; undefined if it is too large. */
const readWhole = ({ bytes }: Source): Buffer | undefined => {
  if (bytes.size > longestDocument) return undefined;
  const whole = Buffer.allocUnsafe(bytes.size);
  return whole.subarray(0, bytes.readNow(whole, 0));
};

const readDocument = (path: string): Buffer | undefined => {
  try {
    return readFileSync(path);
  } catch (thrown) {
    const code = codeOf(thrown);
    if (["ENOENT", "ENOTDIR", "EISDIR"].includes(code)) return undefined;
    throw inputUnreadable(basename(path), code, { cause: thrown });
  }
};
