/** Reads the members of a zip archive one by one, so that only one is in memory. */
import * as zlib from "node:zlib";
import { type Entry, fromRandomAccessReaderPromise, getFileNameLowLevel, RandomAccessReader } from "yauzl";
import { PackedTooLarge } from "../check/rules/packed.ts";
import { Failure } from "../failure.ts";
import type { Cut, Records } from "./records.ts";
import { type Bytes, longestDocument, type Source, tooLong } from "./source.ts";
import { unpackedLimit } from "./spool.ts";
import { ClaimsTooMuch, unzstd } from "./zstd.ts";

/** A member or an archive that cannot be read; the message says why. */
class Unreadable extends Error {}

/**
 * Opens the members with fitting names, in the order of the archive's list. If a name appears twice, the last member counts.
 * An archive without a list is one record that cannot be read.
 * @throws PackedTooLarge; Failure `input-unreadable`
 */
export const openMembers = async (
  { name: file, bytes }: Source,
  { names, maxUnpackedBytes }: { readonly names: RegExp; readonly maxUnpackedBytes: number },
): Promise<Records> => {
  const listed = await listMembers(bytes);
  const isDamaged = listed instanceof Unreadable;
  const fitting = isDamaged ? [] : [...listed].filter(([name]) => names.test(name));
  const limit = unpackedLimit(bytes.size, maxUnpackedBytes);
  const size = fitting.reduce((sum, [, { uncompressedSize }]) => sum + uncompressedSize, 0);
  if (size > limit) throw new PackedTooLarge(limit);
  const records: readonly MemberRecord[] = isDamaged
    ? [{ label: file, read: () => listed }]
    : fitting.map(([member, entry]) => ({ label: `${file}!${member}`, member, read: () => contentOf(bytes, entry) }));
  return {
    async *batches() {
      for (const record of records) yield [cutOf(record)];
    },
    again: async (position) => {
      const record = records[position];
      return record === undefined ? undefined : cutOf(record);
    },
    placeOf: (position) => ({ label: records[position]?.label ?? file, line: 1 }),
    beside: (name) => {
      const entry = isDamaged ? undefined : listed.get(name);
      const content = entry === undefined || entry.uncompressedSize > limit ? undefined : contentOf(bytes, entry);
      return content instanceof Unreadable ? undefined : content;
    },
    close: async () => await bytes.close(),
  };
};

/** A member, or the archive if its members are unknown. */
interface MemberRecord extends Pick<Cut, "label" | "member"> {
  read(): Buffer | Unreadable;
}

const cutOf = ({ read, ...record }: MemberRecord): Cut => {
  const content = read();
  const own = { ...record, line: 1, start: 0 };
  if (content instanceof Unreadable) return { ...own, bytes: Buffer.alloc(0), wrong: content.message };
  return { ...own, bytes: content };
};

/** Returns the members by name. */
const listMembers = async (bytes: Bytes): Promise<ReadonlyMap<string, Entry> | Unreadable> => {
  const members = new Map<string, Entry>();
  try {
    // Names are looked up and never written to a disk, so names that lead elsewhere do no harm.
    const options = { autoClose: false, decodeStrings: false, validateEntrySizes: false };
    const archive = await fromRandomAccessReaderPromise(new Reader(bytes), bytes.size, options);
    for await (const entry of archive.eachEntry()) {
      const name = getFileNameLowLevel(entry.generalPurposeBitFlag, entry.fileNameRaw, entry.extraFields, false);
      members.delete(name);
      members.set(name, entry);
    }
    return members;
  } catch (thrown) {
    if (thrown instanceof Failure) throw thrown;
    return new Unreadable("the archive is cut off or damaged: the list of its members can't be read");
  }
};

/** Reads for yauzl, which asks for a few bytes at a time. */
class Reader extends RandomAccessReader {
  readonly #bytes: Bytes;

  constructor(bytes: Bytes) {
    super();
    this.#bytes = bytes;
  }

  override read(
    into: Buffer,
    offset: number,
    length: number,
    at: number,
    done: (error: Error | null, read?: number) => void,
  ): void {
    let read = 0;
    try {
      read = this.#bytes.readNow(into.subarray(offset, offset + length), at);
    } catch (thrown) {
      done(thrown instanceof Error ? thrown : new Error());
      return;
    }
    done(null, read);
  }
}

/** Length of a member's local header without its name and extra fields, and its first bytes. */
const headerBytes = 30;
const headerMagic = 0x04034b50;

const contentOf = (bytes: Bytes, member: Entry): Buffer | Unreadable => {
  const { generalPurposeBitFlag, uncompressedSize, compressedSize, relativeOffsetOfLocalHeader: offset } = member;
  if ((generalPurposeBitFlag & 1) === 1) return new Unreadable("it is encrypted");
  if (uncompressedSize > longestDocument) return new Unreadable(tooLong);
  try {
    const header = rangeOf(bytes, offset, headerBytes);
    if (header.readUInt32LE(0) !== headerMagic) return new Unreadable("the archive is damaged where it begins");
    const start = offset + headerBytes + header.readUInt16LE(26) + header.readUInt16LE(28);
    const content = decompress(rangeOf(bytes, start, compressedSize), member);
    const isWhole = content.length === uncompressedSize && zlib.crc32(content) === member.crc32;
    return isWhole ? content : new Unreadable("it is damaged: its length or checksum is another");
  } catch (thrown) {
    if (thrown instanceof Failure) throw thrown;
    if (thrown instanceof ClaimsTooMuch) return new Unreadable(thrown.message);
    return thrown instanceof Unreadable ? thrown : new Unreadable("it is damaged: it can't be unpacked");
  }
};

const rangeOf = (bytes: Bytes, start: number, length: number): Buffer => {
  const into = start + length > bytes.size ? undefined : Buffer.allocUnsafe(length);
  if (into === undefined || bytes.readNow(into, start) < length)
    throw new Unreadable("the archive ends in the middle of it");
  return into;
};

const decompress = (compressed: Buffer, { compressionMethod, uncompressedSize }: Entry): Buffer => {
  if (compressionMethod === 0) return compressed;
  if (compressionMethod === 8)
    return zlib.inflateRawSync(compressed, { maxOutputLength: Math.max(1, uncompressedSize) });
  if (compressionMethod === 93) return unzstd(compressed, uncompressedSize);
  throw new Unreadable(`it is packed by a method that can't be read (${compressionMethod})`);
};
