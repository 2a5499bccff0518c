/** Opens one input: a file, standard input, a pipe or an address, compressed or plain; or says why it can't be used. */
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { constants, type FileHandle, open, stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import { PackedBroken, PackedTooLarge } from "../check/rules/packed.ts";
import type { Problems } from "../check/rules/problems.ts";
import type { RuleData, RuleName } from "../check/rules/rules.ts";
import { Failure } from "../failure.ts";
import { codeOf } from "../files.ts";
import type { Host } from "../host.ts";
import { expandGlob, isGlob } from "./names.ts";
import { isPacked, NoZstd, packedBytes } from "./packed.ts";
import type { Remotes } from "./remote.ts";
import { isRemote, NothingThere } from "./remote-names.ts";
import { markup, ownHeadBytes, sniff, sniffedBytes } from "./sniff.ts";
import { type Bytes, fileBytes, type OneOpenFile, type Source } from "./source.ts";
import { type Keeper, keepStream } from "./spool.ts";

/** An input that can't be used, with the rule that says why. */
interface Unusable {
  readonly rule: RuleName;
  report(problems: Problems): void;
}

const unusable = <Name extends RuleName>(rule: Name, file: string, data: RuleData<Name>): Unusable => ({
  rule,
  report: (problems) => problems.report(rule, data, () => ({ file })),
});

/** How an input is opened; with `reopened`, a plain file does not stay open. */
export interface Opening {
  readonly host: Host;
  readonly reopened: OneOpenFile | undefined;
  readonly maxUnpackedBytes: number;
  /** Whether files of other tools that are no text can be read too. */
  readonly takesContainers: boolean;
  /** Inputs that are addresses, and where they are kept; each by itself where nothing is said. */
  readonly remotes: Remotes | undefined;
  readonly openKeeper: (() => Promise<Keeper>) | undefined;
}

/** Opens an input. @throws Failure `spool-failed`, `interrupted` */
export const openInput = async (name: string, opening: Opening): Promise<Source | Unusable> => {
  const { host, reopened, remotes } = opening;
  try {
    if (remotes !== undefined && isRemote(name)) return await kept(name, remotes.open(name), opening);
    if (name === "-") return await kept(name, host.stdin, opening);
    const passing = reopened === undefined ? undefined : lookAt(name, { ...opening, reopened });
    return passing ?? (await openFile(name, opening));
  } catch (thrown) {
    if (thrown instanceof PackedBroken) return unusable(`${thrown.by}-broken`, name, { wrong: thrown.fault });
    if (thrown instanceof PackedTooLarge) return unusable("unpacked-too-large", name, { limit: thrown.limit });
    if (thrown instanceof NothingThere) return unusable("remote-missing", name, { said: thrown.said });
    if (thrown instanceof NoZstd) return unusable("zstd-unsupported", name, { name, node: host.nodeVersion });
    if (thrown instanceof Failure) throw thrown;
    const code = codeOf(thrown);
    if (code === "ENOENT" || code === "ENOTDIR") {
      if (!isGlob(name)) return unusable("file-missing", name, undefined);
      return unusable("glob-empty", name, { pattern: name, matches: (await expandGlob(name)).length });
    }
    if (code === "EISDIR") return unusable("file-is-folder", name, undefined);
    return unusable("file-unreadable", name, { code });
  }
};

/** A plain file that is looked at and closed again; undefined where it is anything else. */
const lookAt = (
  name: string,
  { reopened, takesContainers }: { readonly reopened: OneOpenFile; readonly takesContainers: boolean },
): Source | Unusable | undefined => {
  // Opening a pipe would wait for its writer.
  const facts = statSync(name);
  if (!facts.isFile()) return undefined;
  const { size } = facts;
  const descriptor = openSync(name, "r");
  try {
    const head = Buffer.allocUnsafe(Math.min(sniffedBytes, size));
    if (readSync(descriptor, head, 0, head.length, 0) < packedBytes || isPacked(head)) return undefined;
    const wrong = unfit(name, head, takesContainers);
    if (wrong !== undefined) return wrong;
    return {
      name,
      bytes: reopened.bytesOf({ name, size, head: Buffer.from(head.subarray(0, ownHeadBytes)) }),
      touched: never,
    };
  } finally {
    closeSync(descriptor);
  }
};

const never = async (): Promise<boolean> => false;

const openFile = async (name: string, opening: Opening): Promise<Source | Unusable> => {
  const facts = await stat(name);
  if (facts.isCharacterDevice() && isEndless(facts.rdev)) return unusable("endless-device", name, undefined);
  const awake = facts.isFIFO() ? wakeAtSignal(name, opening.host) : undefined;
  try {
    return await openNamed(name, opening);
  } finally {
    awake?.end();
  }
};

/** Whether a device is one of those that never end, whatever it is called. */
const isEndless = (device: number): boolean =>
  ["/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"].some(
    (name) => statSync(name, { throwIfNoEntry: false })?.rdev === device,
  );

/**
 * Opening or reading a named pipe waits for its writer and can't be called off. At a signal this run is its own writer,
 * so that the wait ends; what it writes is never looked at.
 */
const wakeAtSignal = (name: string, { signal, sleep }: Host): { end(): void } => {
  signal.throwIfAborted();
  let waiting = true;
  const wake = async () => {
    while (waiting && !(await wroteTo(name))) await sleep(untilOpenMs);
  };
  const listener = () => void wake().catch(() => undefined);
  signal.addEventListener("abort", listener, { once: true });
  return {
    end() {
      waiting = false;
      signal.removeEventListener("abort", listener);
    },
  };
};

/** A pipe can be opened to write without waiting only once somebody is about to read it: how soon that is looked at again. */
const untilOpenMs = 10;

/** Writes into a named pipe; false where nobody reads it yet. */
const wroteTo = async (name: string): Promise<boolean> => {
  try {
    const pipe = await open(name, constants.O_WRONLY | constants.O_NONBLOCK);
    await pipe.write("\n").finally(() => pipe.close());
    return true;
  } catch (thrown) {
    if (codeOf(thrown) === "ENXIO") return false;
    throw thrown;
  }
};

const openNamed = async (name: string, opening: Opening): Promise<Source | Unusable> => {
  const file = await open(name, "r");
  let isLeftOpen = false;
  try {
    const facts = await file.stat({ bigint: true });
    if (facts.isDirectory()) return unusable("file-is-folder", name, undefined);
    const size = Number(facts.size);
    const head = Buffer.alloc(packedBytes);
    if (facts.isFile() && size > 0) await file.read(head, 0, head.length, 0);
    // Pipes, devices, and files whose size is not known before they are read, as in /proc, are streams.
    if (!facts.isFile() || size === 0 || isPacked(head)) {
      const stream = file.createReadStream({ autoClose: false, ...(facts.isFile() ? { start: 0 } : {}) });
      return await kept(name, stream, opening);
    }
    isLeftOpen = true;
    const touched = touchedSince(facts, () => file.stat({ bigint: true }));
    const bytes = fileBytes(file, { name, size });
    return await usable(name, { bytes, touched, replaced: replacedAt(name, facts, bytes) }, opening);
  } finally {
    if (!isLeftOpen) await close(file);
  }
};

const close = async (file: FileHandle): Promise<void> => await file.close().catch(() => undefined);

interface FileFacts {
  readonly size: bigint;
  readonly mtimeNs: bigint;
}

/** Says whether a file may have been written anew since it was last asked; one that only grew was not. */
const touchedSince = (opened: FileFacts, look: () => Promise<FileFacts>): (() => Promise<boolean>) => {
  let before = opened;
  return async () => {
    const now = await look();
    const touched = now.size < before.size || (now.size === before.size && now.mtimeNs !== before.mtimeNs);
    before = { size: now.size, mtimeNs: now.mtimeNs };
    return touched;
  };
};

/** Says whether another file has taken a name, and holds something else than what was read. */
const replacedAt =
  (name: string, opened: { readonly dev: bigint; readonly ino: bigint }, bytes: Bytes): (() => Promise<boolean>) =>
  async () => {
    const now = await stat(name, { bigint: true }).catch(() => undefined);
    if (now === undefined || (now.ino === opened.ino && now.dev === opened.dev)) return false;
    return !now.isFile() || now.size !== BigInt(bytes.size) || !(await holdsSame(name, bytes));
  };

/** Bytes of two files that are held against each other at once. */
const comparedBytes = 2 ** 20;

/** Whether a file holds what was read of another. */
const holdsSame = async (name: string, bytes: Bytes): Promise<boolean> => {
  const file = await open(name, "r").catch(() => undefined);
  if (file === undefined) return false;
  try {
    const [one, other] = [Buffer.allocUnsafe(comparedBytes), Buffer.allocUnsafe(comparedBytes)];
    for (let at = 0; at < bytes.size; at += comparedBytes) {
      const length = Math.min(comparedBytes, bytes.size - at);
      const { bytesRead } = await file.read(other, 0, length, at);
      const read = await bytes.read(one.subarray(0, length), at);
      if (read !== bytesRead || one.compare(other, 0, read, 0, read) !== 0) return false;
    }
    return true;
  } finally {
    await close(file);
  }
};

const kept = async (name: string, stream: Readable, opening: Opening): Promise<Source | Unusable> =>
  await usable(name, { bytes: await keepStream(stream, opening), touched: never }, opening);

/** Looks at the first bytes before anything else does. */
const usable = async (
  name: string,
  opened: Omit<Source, "name">,
  { takesContainers }: Opening,
): Promise<Source | Unusable> => {
  const { bytes } = opened;
  const head = Buffer.alloc(Math.min(sniffedBytes, bytes.size));
  await bytes.read(head, 0);
  const wrong = unfit(name, head, takesContainers);
  if (wrong === undefined) return { name, ...opened };
  await bytes.close();
  return wrong;
};

/** What stands at an address where a server asks people to sign in, or shows them what it has. */
const webPage: RuleData<"not-json"> = {
  kind: "a web page",
  instead:
    "give the address of the file itself (on a hub /resolve/ or /raw/ in place of /blob/), without a login before it",
};

/** What the first bytes of an input say that can't be read. */
const unfit = (name: string, head: Buffer, takesContainers: boolean): Unusable | undefined => {
  const sniffed = sniff(head);
  if (takesContainers && sniffed?.rule === "not-json" && sniffed.container !== undefined) return undefined;
  if (sniffed?.rule === "utf-16") return unusable("utf-16", name, sniffed.data);
  if (sniffed?.rule === "not-json" && sniffed.data.kind === markup && isRemote(name))
    return unusable("not-json", name, webPage);
  if (sniffed !== undefined) return unusable("not-json", name, sniffed.data);
  return head.length === 0 ? unusable("input-empty", name, undefined) : undefined;
};
