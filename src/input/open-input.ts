/** Opens one input: a file, standard input, a pipe or a URL, compressed or not. */
import {
  type BigIntStats,
  closeSync,
  createReadStream,
  fstatSync,
  open as openFile,
  openSync,
  readSync,
  statSync,
} from "node:fs";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import type { RuleData } from "../check/rules/rules.ts";
import { Failure } from "../failure.ts";
import { getErrorCode, unblockOnAbort } from "../files.ts";
import { findDecompressor, ZstdUnsupported } from "./decompress.ts";
import { expandGlob, isGlob } from "./expand-names.ts";
import { UnusableInput } from "./failures.ts";
import { isRemote, tryStat } from "./names.ts";
import type { Remotes } from "./remote.ts";
import { findContainer, markup, sniff, sniffedBytes } from "./sniff.ts";
import { createCloser, descriptorBytes, readHead, reopenedBytes, type Source } from "./source.ts";
import { type SpoolOptions, spoolStream } from "./spool.ts";

export interface InputOptions extends SpoolOptions {
  /** True if uncompressed files are opened for each read, instead of once. */
  readonly isReopened: boolean;
  readonly remotes: Remotes | undefined;
}

/** Opens an input. @throws UnusableInput; Failure `spool-failed`, `interrupted`, `remote-…` */
export const openInput = async (name: string, opening: InputOptions): Promise<Source> => {
  const { host, remotes } = opening;
  try {
    if (remotes !== undefined && isRemote(name)) return await openStream(name, remotes.open(name), opening);
    if (name === "-") return await openStream(name, host.stdin, opening);
    return await openPath(name, opening);
  } catch (thrown) {
    if (thrown instanceof ZstdUnsupported)
      throw new UnusableInput("zstd-unsupported", { name, node: host.nodeVersion });
    if (thrown instanceof Failure || thrown instanceof UnusableInput) throw thrown;
    const code = getErrorCode(thrown);
    if (code !== "ENOENT" && code !== "ENOTDIR") throw new UnusableInput("file-unreadable", { code });
    if (!isGlob(name)) throw new UnusableInput("file-not-found", undefined);
    throw new UnusableInput("glob-without-match", { pattern: name, matches: expandGlob(name).length });
  }
};

const openPath = async (name: string, opening: InputOptions): Promise<Source> => {
  const facts = statSync(name);
  if (facts.isDirectory()) throw new UnusableInput("file-is-folder", undefined);
  if (facts.isCharacterDevice() && isEndless(facts.rdev)) throw new UnusableInput("endless-device", undefined);
  if (!facts.isFIFO()) return await openDescriptor(openSync(name, "r"), name, opening);
  const writer = unblockOnAbort(name, opening.host);
  try {
    // This waits for a writer.
    return await openDescriptor(await promisify(openFile)(name, "r"), name, opening);
  } finally {
    writer.end();
  }
};

/** True if a device never ends, whatever its name is. */
const isEndless = (device: number): boolean =>
  ["/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"].some(
    (name) => statSync(name, { throwIfNoEntry: false })?.rdev === device,
  );

/** Opens the input of a descriptor, which is closed with the input. */
const openDescriptor = async (descriptor: number, name: string, opening: InputOptions): Promise<Source> => {
  let isOwned = false;
  try {
    const facts = fstatSync(descriptor, { bigint: true });
    const size = Number(facts.size);
    const head = Buffer.alloc(facts.isFile() ? Math.min(sniffedBytes, size) : 0);
    const length = head.length === 0 ? 0 : readSync(descriptor, head, 0, head.length, 0);
    // Pipes, devices and files without a size, such as those in /proc, are streams.
    if (length === 0 || findDecompressor(head) !== undefined) {
      const options = { fd: descriptor, ...(facts.isFile() ? { start: 0 } : {}) };
      isOwned = true;
      return await openStream(name, createReadStream("", options), opening);
    }
    checkHead(name, head, opening.takesContainers);
    if (opening.isReopened) return { name, bytes: reopenedBytes({ name, size }) };
    isOwned = true;
    return {
      name,
      bytes: { ...descriptorBytes({ descriptor, name, size }), close: createCloser(descriptor) },
      touched: detectRewrite(descriptor, facts),
      isReplaced() {
        const now = tryStat(name);
        return now !== undefined && (now.ino !== facts.ino || now.dev !== facts.dev);
      },
    };
  } finally {
    if (!isOwned) closeSync(descriptor);
  }
};

/** Returns a function that is true if a file may have been rewritten since its last call, not if it only grew. */
const detectRewrite = (descriptor: number, opened: BigIntStats): (() => Promise<boolean>) => {
  let { size, mtimeNs } = opened;
  return async () => {
    const now = fstatSync(descriptor, { bigint: true });
    const isTouched = now.size < size || (now.size === size && now.mtimeNs !== mtimeNs);
    ({ size, mtimeNs } = now);
    return isTouched;
  };
};

const openStream = async (name: string, stream: Readable, opening: InputOptions): Promise<Source> => {
  const bytes = await spoolStream(stream, opening);
  try {
    checkHead(name, readHead(bytes, sniffedBytes), opening.takesContainers);
  } catch (thrown) {
    await bytes.close();
    throw thrown;
  }
  return { name, bytes };
};

/** Servers send a web page to ask for a login, or to show a file. */
const webPage: RuleData<"not-json"> = {
  kind: "a web page",
  instead: "use the URL of the file itself (on the Hub, /resolve/ instead of /blob/), which must not need a login",
};

const checkHead = (name: string, head: Buffer, takesContainers: boolean): void => {
  const sniffed = sniff(head, name);
  if (head.length === 0) throw new UnusableInput("input-empty", undefined);
  if (sniffed === undefined || (takesContainers && findContainer(head) !== undefined)) return;
  const isPage = sniffed.rule === "not-json" && sniffed.data.kind === markup && isRemote(name);
  throw isPage ? new UnusableInput("not-json", webPage) : sniffed;
};
