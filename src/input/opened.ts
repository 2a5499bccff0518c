/** Opens one input: a file, standard input, a pipe or an address, compressed or plain. Reports why it cannot be used. */
import { closeSync, createReadStream, fstatSync, open as openFile, openSync, readSync, statSync } from "node:fs";
import { constants, open, stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import { PackedBroken, PackedTooLarge } from "../check/rules/packed.ts";
import type { Problems } from "../check/rules/problems.ts";
import type { RuleData, RuleName } from "../check/rules/rules.ts";
import { Failure } from "../failure.ts";
import { codeOf } from "../files.ts";
import type { Host } from "../host.ts";
import { decompressorOf, NoZstd } from "./decompress.ts";
import { expandGlob, isGlob } from "./names.ts";
import type { Remotes } from "./remote.ts";
import { isRemote, NothingThere } from "./remote-names.ts";
import { markup, ownHeadBytes, sniff, sniffedBytes } from "./sniff.ts";
import { type Bytes, closerOf, descriptorBytes, readHead, readRange, reopenedBytes, type Source } from "./source.ts";
import { type SpoolOptions, spoolStream } from "./spool.ts";

/** An input that cannot be used, with the rule that says why. */
interface Unusable {
  readonly rule: RuleName;
  report(problems: Problems): void;
}

const unusable = <Name extends RuleName>(rule: Name, file: string, data: RuleData<Name>): Unusable => ({
  rule,
  report: (problems) => problems.report(rule, data, () => ({ file })),
});

/** How an input is opened. */
export interface Opening extends SpoolOptions {
  /** True if a plain file is opened for each read. Otherwise it stays open. */
  readonly isReopened: boolean;
  /** The inputs that are addresses. */
  readonly remotes: Remotes | undefined;
}

/** Opens an input. @throws Failure `spool-failed`, `interrupted`, `remote-…` */
export const openInput = async (name: string, opening: Opening): Promise<Source | Unusable> => {
  const { host, remotes } = opening;
  try {
    if (remotes !== undefined && isRemote(name)) return await spooled(name, remotes.open(name), opening);
    if (name === "-") return await spooled(name, host.stdin, opening);
    return await openNamed(name, opening);
  } catch (thrown) {
    if (thrown instanceof PackedBroken) return unusable(`${thrown.by}-corrupt`, name, { wrong: thrown.fault });
    if (thrown instanceof PackedTooLarge) return unusable("decompressed-too-large", name, { limit: thrown.limit });
    if (thrown instanceof NothingThere) return unusable("remote-not-found", name, { said: thrown.said });
    if (thrown instanceof NoZstd) return unusable("zstd-unsupported", name, { name, node: host.nodeVersion });
    if (thrown instanceof Failure) throw thrown;
    const code = codeOf(thrown);
    if (code !== "ENOENT" && code !== "ENOTDIR") return unusable("file-unreadable", name, { code });
    if (!isGlob(name)) return unusable("file-not-found", name, undefined);
    return unusable("glob-without-match", name, { pattern: name, matches: expandGlob(name).length });
  }
};

const openNamed = async (name: string, opening: Opening): Promise<Source | Unusable> => {
  const facts = statSync(name);
  if (facts.isDirectory()) return unusable("file-is-folder", name, undefined);
  if (facts.isCharacterDevice() && isEndless(facts.rdev)) return unusable("endless-device", name, undefined);
  if (!facts.isFIFO()) return await openWith(openSync(name, "r"), name, opening);
  const writer = writeAtSignal(name, opening.host);
  try {
    // To open a pipe waits for its writer.
    return await openWith(await promisify(openFile)(name, "r"), name, opening);
  } finally {
    writer.end();
  }
};

/** True if a device never ends, whatever its name is. */
const isEndless = (device: number): boolean =>
  ["/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"].some(
    (name) => statSync(name, { throwIfNoEntry: false })?.rdev === device,
  );

/** Opens the input behind a descriptor, which is closed with the input. */
const openWith = async (descriptor: number, name: string, opening: Opening): Promise<Source | Unusable> => {
  let isOwned = false;
  try {
    const facts = fstatSync(descriptor, { bigint: true });
    const size = Number(facts.size);
    const head = Buffer.alloc(facts.isFile() ? Math.min(sniffedBytes, size) : 0);
    const length = head.length === 0 ? 0 : readSync(descriptor, head, 0, head.length, 0);
    // Pipes, devices, and files without a size, such as those in /proc, are streams.
    if (length === 0 || decompressorOf(head) !== undefined) {
      const options = { fd: descriptor, ...(facts.isFile() ? { start: 0 } : {}) };
      isOwned = true;
      return await spooled(name, createReadStream("", options), opening);
    }
    const wrong = unfit(name, head, opening.takesContainers);
    if (wrong !== undefined) return wrong;
    if (opening.isReopened) {
      const ownHead = Buffer.from(head.subarray(0, ownHeadBytes));
      return { name, bytes: reopenedBytes({ name, size, head: ownHead }), touched: never };
    }
    isOwned = true;
    const bytes = { ...descriptorBytes({ descriptor, name, size }), close: closerOf(descriptor) };
    return { name, bytes, touched: touchedSince(descriptor, facts), replaced: replacedAt(name, facts, bytes) };
  } finally {
    if (!isOwned) closeSync(descriptor);
  }
};

const never = async (): Promise<boolean> => false;

/**
 * To open or read a named pipe waits for its writer and cannot be aborted. At a signal this run writes to the pipe, so
 * that the wait ends. Nobody looks at what it writes.
 */
const writeAtSignal = (name: string, { signal, sleep }: Host): { end(): void } => {
  signal.throwIfAborted();
  let isWaiting = true;
  const write = async () => {
    while (isWaiting && !(await hasWritten(name))) await sleep(pipePollMs);
  };
  const listener = () => void write().catch(() => undefined);
  signal.addEventListener("abort", listener, { once: true });
  return {
    end() {
      isWaiting = false;
      signal.removeEventListener("abort", listener);
    },
  };
};

/** How often rollcall tries to open a pipe, which fails until the reader has opened it. */
const pipePollMs = 10;

/** Writes to a named pipe; false if nobody reads it yet. */
const hasWritten = async (name: string): Promise<boolean> => {
  try {
    const pipe = await open(name, constants.O_WRONLY | constants.O_NONBLOCK);
    await pipe.write("\n").finally(() => pipe.close());
    return true;
  } catch (thrown) {
    if (codeOf(thrown) === "ENXIO") return false;
    throw thrown;
  }
};

interface FileFacts {
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly dev: bigint;
  readonly ino: bigint;
}

/** Returns a function that says if a file may have been rewritten since its last call. A file that only grew was not. */
const touchedSince = (descriptor: number, opened: FileFacts): Source["touched"] => {
  let { size, mtimeNs } = opened;
  return async () => {
    const now = fstatSync(descriptor, { bigint: true });
    const isTouched = now.size < size || (now.size === size && now.mtimeNs !== mtimeNs);
    ({ size, mtimeNs } = now);
    return isTouched;
  };
};

/** Returns a function that says if another file with other bytes has a name now. */
const replacedAt =
  (name: string, opened: FileFacts, bytes: Bytes): (() => Promise<boolean>) =>
  async () => {
    const now = await stat(name, { bigint: true }).catch(() => undefined);
    if (now === undefined || (now.ino === opened.ino && now.dev === opened.dev)) return false;
    return !now.isFile() || now.size !== BigInt(bytes.size) || !(await hasBytes(name, bytes).catch(() => false));
  };

/** Bytes of two files that are compared at once. */
const comparedBytes = 2 ** 20;

const hasBytes = async (name: string, bytes: Bytes): Promise<boolean> => {
  const descriptor = openSync(name, "r");
  const other = descriptorBytes({ descriptor, name, size: bytes.size });
  try {
    for (let start = 0; start < bytes.size; start += comparedBytes) {
      const range = { start, length: Math.min(comparedBytes, bytes.size - start) };
      if (!(await readRange(bytes, range)).equals(await readRange(other, range))) return false;
    }
    return true;
  } finally {
    closeSync(descriptor);
  }
};

const spooled = async (name: string, stream: Readable, opening: Opening): Promise<Source | Unusable> => {
  const bytes = await spoolStream(stream, opening);
  const wrong = unfit(name, await readHead(bytes, sniffedBytes), opening.takesContainers);
  if (wrong === undefined) return { name, bytes, touched: never };
  await bytes.close();
  return wrong;
};

/** A server gives a web page instead of a file if it asks people to log in, or shows its files to people. */
const webPage: RuleData<"not-json"> = {
  kind: "a web page",
  instead:
    "give the address of the file itself (on a hub /resolve/ or /raw/ in place of /blob/), without a login before it",
};

/** Says why an input with these first bytes cannot be read. */
const unfit = (name: string, head: Buffer, takesContainers: boolean): Unusable | undefined => {
  const sniffed = sniff(head);
  if (sniffed === undefined) return head.length === 0 ? unusable("input-empty", name, undefined) : undefined;
  if (sniffed.rule === "utf-16") return unusable("utf-16", name, sniffed.data);
  if (takesContainers && sniffed.container !== undefined) return undefined;
  return unusable("not-json", name, sniffed.data.kind === markup && isRemote(name) ? webPage : sniffed.data);
};
