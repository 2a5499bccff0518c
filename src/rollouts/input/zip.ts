/** Reads the members of a zip archive, one at a time. */
import { setImmediate } from "node:timers/promises";
import * as zlib from "node:zlib";
import { type Entry, fromRandomAccessReaderPromise, getFileNameLowLevel, RandomAccessReader } from "yauzl";
import { Failure } from "../../failure.ts";
import { getErrorCode } from "../../system/files.ts";
import { decompressedTooLarge } from "./failures.ts";
import { skipByName } from "./list-folder.ts";
import { isRolloutName } from "./names.ts";
import type { Bytes, ReadLimits, Records, Source } from "./source.ts";
import { documentTooLong, maxDocumentBytes, openUnreadable, unreadableRecord } from "./source.ts";
import { decompressionLimit } from "./spool.ts";
import { formatExcess, UnreadableContent, unzstd } from "./zstd.ts";

/** @throws UnusableInput; Failure `input-unreadable` */
export const openMembers = async (
  { name: file, bytes }: Source,
  { names, companions, maxUnpackedBytes, signal }: ReadLimits & { names: RegExp; companions: RegExp | undefined },
): Promise<Records> => {
  const members = await listMembers(bytes, names, signal);
  if (typeof members === "string") return openUnreadable(unreadableRecord({ label: file }, members));
  const matching = [...members].filter(([name]) => names.test(name));
  const limit = decompressionLimit(bytes.size, maxUnpackedBytes);
  const size = matching.reduce((sum, [, { uncompressedSize }]) => sum + uncompressedSize, 0);
  if (size > limit) throw decompressedTooLarge(limit, maxUnpackedBytes, "zip");
  const labelOf = (name: string | undefined) => `${file}!${name}`;
  const toRecord = ([name, member]: readonly [string, ArchiveMember]) => {
    const content = readContent(bytes, member);
    const text = { label: labelOf(name), member: name };
    return typeof content === "string"
      ? unreadableRecord(text, content)
      : { ...text, bytes: content, line: 1, start: 0 };
  };
  const others = [...members.keys()].filter((name) => !names.test(name) && !companions?.test(name));
  const visible = others.filter((name) => !/(?:^|\/)\.|\/$/.test(name));
  return {
    async *batches() {
      for (const entry of matching) {
        await setImmediate();
        signal.throwIfAborted();
        yield [toRecord(entry)];
      }
    },
    reread: async (position) => matching[position] && toRecord(matching[position]),
    locate: (position) => ({ label: labelOf(matching[position]?.[0]), line: 1 }),
    skipped: visible.flatMap((name) => (isRolloutName(name) ? { file: labelOf(name) } : skipByName(labelOf(name)))),
    readSibling: (name) => {
      const member = members.get(name);
      const content = member && member.uncompressedSize <= limit ? readContent(bytes, member) : undefined;
      return typeof content === "string" ? undefined : content;
    },
  };
};

/** Copies a few fields, because a million of yauzl's entries would take too much memory. */
const toMember = (entry: Entry) => {
  const { compressionMethod, compressedSize, uncompressedSize, crc32, relativeOffsetOfLocalHeader: offset } = entry;
  const isEncrypted = (entry.generalPurposeBitFlag & 1) === 1;
  return {
    compressionMethod,
    compressedSize,
    uncompressedSize,
    crc32,
    isEncrypted,
    offset,
    rawName: entry.fileNameRaw,
  };
};

type ArchiveMember = ReturnType<typeof toMember>;

type ReadCallback = (error: Error | null, bytesRead?: number) => void;

const maxMembers = 100_000;

/** The start of each member's entry in the list (APPNOTE.TXT, 4.3.12). */
const listMagic = 0x02014b50;

/** Returns the defect of an unreadable archive. @throws the signal's reason */
const listMembers = async (bytes: Bytes, names: RegExp, signal: AbortSignal) => {
  const members = new Map<string, ArchiveMember>();
  class ZipReader extends RandomAccessReader {
    override read(into: Buffer, offset: number, length: number, at: number, done: ReadCallback) {
      let bytesRead = 0;
      try {
        bytesRead = bytes.read(into.subarray(offset, offset + length), at);
      } catch (thrown) {
        return done(thrown instanceof Error ? thrown : new Error());
      }
      done(null, bytesRead);
    }
  }
  try {
    // yauzl's checks of names are unnecessary, because no name becomes a path.
    const options = { autoClose: false, decodeStrings: false, validateEntrySizes: false };
    const archive = await fromRandomAccessReaderPromise(new ZipReader(), bytes.size, options);
    if (archive.entryCount > maxMembers)
      return `the archive has ${archive.entryCount} members, over the limit of ${maxMembers} (write it as several archives)`;
    let count = 0;
    for await (const entry of archive.eachEntry()) {
      if (count++ % 1000 === 0) await setImmediate();
      signal.throwIfAborted();
      const name = getFileNameLowLevel(entry.generalPurposeBitFlag, entry.fileNameRaw, entry.extraFields, false);
      const before = members.get(name);
      // Writers append a new version of their own files, but a second version of a sample can be anything.
      if (before && before.crc32 !== entry.crc32 && names.test(name))
        return `the archive has two members with the name ${name} (remove one of them)`;
      members.delete(name);
      members.set(name, toMember(entry));
    }
    // The end of the archive can count fewer members than its list has.
    const isCounted = readBytes(bytes, Number(archive.readEntryCursor), 4).readUInt32LE() !== listMagic;
    if (isCounted) return members;
    throw new UnreadableContent("the list continues");
  } catch (thrown) {
    if (thrown instanceof Failure || signal.aborted) throw thrown;
    return "the archive is cut off or damaged, so its list of members cannot be read (write the file again)";
  }
};

/** The fixed size of a local file header in bytes (APPNOTE.TXT, 4.3.7). */
const headerBytes = 30;
const headerMagic = 0x04034b50;

const readContent = (bytes: Bytes, member: ArchiveMember) => {
  const { isEncrypted, uncompressedSize, compressedSize, offset } = member;
  if (isEncrypted) return "it is encrypted";
  if (uncompressedSize > maxDocumentBytes) return documentTooLong;
  try {
    const header = readBytes(bytes, offset, headerBytes);
    if (header.readUInt32LE(0) !== headerMagic) return "the archive is damaged at the start of this member";
    const name = readBytes(bytes, offset + headerBytes, header.readUInt16LE(26));
    if (!name.equals(member.rawName)) return "its name differs from its name in the list of the archive";
    const start = offset + headerBytes + header.readUInt16LE(26) + header.readUInt16LE(28);
    const content = decompress(readBytes(bytes, start, compressedSize), member);
    const isWhole = content.length === uncompressedSize && zlib.crc32(content) === member.crc32;
    return isWhole ? content : "it is damaged: its length or checksum is wrong";
  } catch (thrown) {
    if (thrown instanceof Failure) throw thrown;
    if (getErrorCode(thrown) === "ERR_BUFFER_TOO_LARGE") return formatExcess(uncompressedSize);
    return thrown instanceof UnreadableContent ? thrown.message : "it is damaged and cannot be decompressed";
  }
};

const readBytes = (bytes: Bytes, start: number, length: number) => {
  const into = start + length > bytes.size ? undefined : Buffer.allocUnsafe(length);
  if (!into || bytes.read(into, start) < length)
    throw new UnreadableContent("the archive ends before the end of this member");
  return into;
};

const decompress = (compressed: Buffer, { compressionMethod, uncompressedSize }: ArchiveMember) => {
  if (compressionMethod === 0) return compressed;
  if (compressionMethod === 8)
    return zlib.inflateRawSync(compressed, { maxOutputLength: Math.max(1, uncompressedSize) });
  if (compressionMethod === 93) return unzstd(compressed, uncompressedSize);
  throw new UnreadableContent(`its compression method ${compressionMethod} is not supported`);
};
