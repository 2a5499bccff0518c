/** Documents that stand beside the files that are converted. */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { Failure } from "../failure.ts";
import { codeOf } from "../files.ts";
import { longestDocument, type Source } from "../input/source.ts";
import { markLength } from "../json/walk.ts";
import { Value } from "./value.ts";

/** Bytes of documents beside files that are held, for the next record that asks for them. */
const heldBytes = 2 ** 26;

/** Documents that stand beside files: the last ones are held. */
export class Documents {
  /** Names of all that were there. */
  readonly read = new Set<string>();
  readonly #held = new Map<string, Value | undefined>();
  #bytes = 0;

  /** The document of a name, which is read where it is not held; undefined where there is none. */
  at(name: string, read: () => Buffer | undefined): Value | undefined {
    if (this.#held.has(name)) return this.#held.get(name);
    const bytes = read();
    const value = bytes === undefined ? undefined : Value.of(bytes, { document: name });
    if (bytes !== undefined) this.read.add(name);
    this.#bytes += bytes?.length ?? 0;
    for (const [oldest, held] of this.#held) {
      if (this.#bytes <= heldBytes) break;
      this.#held.delete(oldest);
      this.#bytes -= held?.bytes.length ?? 0;
    }
    this.#held.set(name, value);
    return value;
  }
}

/** All of a source that was kept; undefined where nothing can hold it. */
export const wholeOf = ({ bytes }: Source): Buffer | undefined => {
  if (bytes.size > longestDocument) return undefined;
  const whole = Buffer.allocUnsafe(bytes.size);
  const read = bytes.readNow(whole, 0);
  return whole.subarray(markLength(whole), read);
};

/** A document beside a file, without a byte order mark; undefined where there is none. */
export const readBeside = (path: string): Buffer | undefined => {
  try {
    const bytes = readFileSync(path);
    return bytes.subarray(markLength(bytes));
  } catch (thrown) {
    if (["ENOENT", "ENOTDIR", "EISDIR"].includes(codeOf(thrown))) return undefined;
    throw new Failure("input-unreadable", { file: basename(path), code: codeOf(thrown) }, { cause: thrown });
  }
};
