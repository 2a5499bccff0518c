/** Reads the members of a zip archive one by one: one of them is held at a time. */
import * as zlib from "node:zlib";
import { type Entry, fromRandomAccessReaderPromise, getFileNameLowLevel, RandomAccessReader } from "yauzl";
import { PackedTooLarge } from "../check/rules/packed.ts";
import { Failure } from "../failure.ts";
import type { Cut, Records } from "./records.ts";
import { type Bytes, longestDocument, type Source, tooLong } from "./source.ts";
import { unpackedLimit } from "./spool.ts";
import { ClaimsTooMuch, unzstd } from "./zstd.ts";

/** A member, or a whole archive, that can't be read: its message says why. */
class Unreadable extends Error {}

/**
 * Opens the members of an archive whose names fit, in the order of its list; of a name that stands there twice, the last
 * is meant. An archive without a list is one record that can't be read.
 * @throws PackedTooLarge; Failure `input-unreadable`
 */
export const openMembers = async (
  { name: file, bytes }: Source,
  { names, maxUnpackedBytes }: { readonly names: RegExp; readonly maxUnpackedBytes: number },
): Promise<Records> => {
  const listed = await listOf(bytes);
  const close = async () => await bytes.close();
  const place = { bytes: Buffer.alloc(0), label: file, line: 1, start: 0 };
  if (listed instanceof Unreadable) {
    const archive: Cut = { ...place, wrong: listed.message };
    const batches = async function* () {
      yield [archive];
    };
    return { batches, again: async () => archive, placeOf: () => archive, close };
  }
  const members = [...listed].filter(([name]) => names.test(name));
  const limit = unpackedLimit(bytes.size, maxUnpackedBytes);
  const size = members.reduce((sum, [, { uncompressedSize }]) => sum + uncompressedSize, 0);
  if (size > limit) throw new PackedTooLarge(limit);
  const labelOf = (name: string | undefined): string => (name === undefined ? file : `${file}!${name}`);
  const cutOf = ([name, member]: readonly [string, Entry]): Cut => {
    const own = { ...place, label: labelOf(name), member: name };
    const content = contentOf(bytes, member);
    return content instanceof Unreadable ? { ...own, wrong: content.message } : { ...own, bytes: content };
  };
  return {
    async *batches() {
      for (const member of members) yield [cutOf(member)];
    },
    again: async (position) => {
      const member = members[position];
      return member === undefined ? undefined : cutOf(member);
    },
    placeOf: (position) => ({ label: labelOf(members[position]?.[0]), line: 1 }),
    beside: (name) => {
      const member = listed.get(name);
      const content = member === undefined || member.uncompressedSize > limit ? undefined : contentOf(bytes, member);
      return content instanceof Unreadable ? undefined : content;
    },
    close,
  };
};

/** The members by their names. */
const listOf = async (bytes: Bytes): Promise<ReadonlyMap<string, Entry> | Unreadable> => {
  const members = new Map<string, Entry>();
  try {
    // Names are looked up and never written to a disk: those that lead elsewhere do no harm.
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

/** Bytes of the list that are read at once. */
const windowBytes = 2 ** 16;

/** Reads for yauzl, which asks for a few bytes at a time. */
class Reader extends RandomAccessReader {
  readonly #bytes: Bytes;
  readonly #window = Buffer.alloc(windowBytes);
  #start = 0;
  #length = 0;

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
    this.#take(into.subarray(offset, offset + length), at).then((read) => done(null, read), done);
  }

  async #take(into: Buffer, at: number): Promise<number> {
    if (into.length > windowBytes) return await this.#bytes.read(into, at);
    if (at < this.#start || at + into.length > this.#start + this.#length) {
      this.#start = at;
      this.#length = await this.#bytes.read(this.#window, at);
    }
    return this.#window.copy(into, 0, at - this.#start, Math.min(this.#length, at - this.#start + into.length));
  }
}

/** Bytes of what stands before a member, its name and extra fields aside, and how it begins. */
const headerBytes = 30;
const headerMagic = 0x04034b50;

const contentOf = (bytes: Bytes, member: Entry): Buffer | Unreadable => {
  if ((member.generalPurposeBitFlag & 1) === 1) return new Unreadable("it is encrypted");
  if (member.uncompressedSize > longestDocument) return new Unreadable(tooLong);
  try {
    const header = rangeOf(bytes, member.relativeOffsetOfLocalHeader, headerBytes);
    if (header.readUInt32LE(0) !== headerMagic) throw new Unreadable("the archive is damaged where it begins");
    const start = member.relativeOffsetOfLocalHeader + headerBytes + header.readUInt16LE(26) + header.readUInt16LE(28);
    const content = unpacked(rangeOf(bytes, start, member.compressedSize), member);
    const isWhole = content.length === member.uncompressedSize && zlib.crc32(content) === member.crc32;
    return isWhole ? content : new Unreadable("it is damaged: its length or checksum is another");
  } catch (thrown) {
    if (thrown instanceof Failure) throw thrown;
    if (thrown instanceof ClaimsTooMuch) return new Unreadable(thrown.message);
    return thrown instanceof Unreadable ? thrown : new Unreadable("it is damaged: it can't be unpacked");
  }
};

const rangeOf = (bytes: Bytes, start: number, length: number): Buffer => {
  if (start + length > bytes.size) throw new Unreadable("the archive ends in the middle of it");
  const into = Buffer.allocUnsafe(length);
  if (bytes.readNow(into, start) < length) throw new Unreadable("the archive ends in the middle of it");
  return into;
};

const unpacked = (packed: Buffer, { compressionMethod, uncompressedSize }: Entry): Buffer => {
  if (compressionMethod === 0) return packed;
  if (compressionMethod === 8) return zlib.inflateRawSync(packed, { maxOutputLength: Math.max(1, uncompressedSize) });
  if (compressionMethod === 93) return unzstd(packed, uncompressedSize);
  throw new Unreadable(`it is packed by a method that can't be read (${compressionMethod})`);
};
