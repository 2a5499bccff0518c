/** Reads the members of a zip archive, with one member in memory at a time. */
import * as zlib from "node:zlib";
import { type Entry, fromRandomAccessReaderPromise, getFileNameLowLevel, RandomAccessReader } from "yauzl";
import { Failure } from "../failure.ts";
import { getErrorCode } from "../files.ts";
import { decompressedTooLarge } from "./failures.ts";
import type { RawRecord, Records } from "./records.ts";
import { type Bytes, documentTooLong, maxDocumentBytes, type Source } from "./source.ts";
import { decompressionLimit } from "./spool.ts";
import { formatExcess, UnreadableContent, unzstd } from "./zstd.ts";

/**
 * Opens the members whose names match, in the order of the archive's list. The last member of a repeated name counts.
 * An archive without a readable list is one record with a defect. @throws UnusableInput; Failure `input-unreadable`
 */
export const openMembers = async (
  { name: file, bytes }: Source,
  { names, maxUnpackedBytes }: { readonly names: RegExp; readonly maxUnpackedBytes: number },
): Promise<Records> => {
  const listed = await listMembers(bytes);
  const members = typeof listed === "string" ? new Map<string, Member>() : listed;
  const matching = [...members].filter(([name]) => names.test(name));
  const limit = decompressionLimit(bytes.size, maxUnpackedBytes);
  const size = matching.reduce((sum, [, { uncompressedSize }]) => sum + uncompressedSize, 0);
  if (size > limit) throw decompressedTooLarge(limit);
  const labelOf = (position: number) => {
    const name = matching[position]?.[0];
    return name === undefined ? file : `${file}!${name}`;
  };
  const recordAt = (position: number): RawRecord => {
    const [name, member] = matching[position] ?? [];
    const content = member === undefined ? listed : readContent(bytes, member);
    const location = { label: labelOf(position), ...(name === undefined ? {} : { member: name }), line: 1, start: 0 };
    if (Buffer.isBuffer(content)) return { ...location, bytes: content };
    return { ...location, bytes: Buffer.alloc(0), wrong: String(content) };
  };
  const count = typeof listed === "string" ? 1 : matching.length;
  return {
    async *batches() {
      for (let at = 0; at < count; at++) yield [recordAt(at)];
    },
    reread: async (position) => (position < count ? recordAt(position) : undefined),
    positionOf: (position) => ({ label: labelOf(position), line: 1 }),
    readSibling: (name) => {
      const member = members.get(name);
      const content = member === undefined || member.uncompressedSize > limit ? undefined : readContent(bytes, member);
      return Buffer.isBuffer(content) ? content : undefined;
    },
  };
};

/** The facts of a member that stay in memory. yauzl's entries are too large for an archive of a million members. */
type Member = Pick<
  Entry,
  "generalPurposeBitFlag" | "compressionMethod" | "compressedSize" | "uncompressedSize" | "crc32"
> & { readonly offset: number };

/** Returns the members by name, or the reason why the list cannot be read. */
const listMembers = async (bytes: Bytes): Promise<ReadonlyMap<string, Member> | string> => {
  const members = new Map<string, Member>();
  try {
    // Names are never used as paths, so they need no validation.
    const options = { autoClose: false, decodeStrings: false, validateEntrySizes: false };
    const archive = await fromRandomAccessReaderPromise(new ZipReader(bytes), bytes.size, options);
    for await (const entry of archive.eachEntry()) {
      const name = getFileNameLowLevel(entry.generalPurposeBitFlag, entry.fileNameRaw, entry.extraFields, false);
      members.delete(name);
      const { generalPurposeBitFlag, compressionMethod, compressedSize, uncompressedSize, crc32 } = entry;
      const offset = entry.relativeOffsetOfLocalHeader;
      members.set(name, { generalPurposeBitFlag, compressionMethod, compressedSize, uncompressedSize, crc32, offset });
    }
    return members;
  } catch (thrown) {
    if (thrown instanceof Failure) throw thrown;
    return "the archive is cut off or damaged, so its list of members cannot be read (write the file again)";
  }
};

type ReadCallback = (error: Error | null, bytesRead?: number) => void;

class ZipReader extends RandomAccessReader {
  readonly #bytes: Bytes;

  constructor(bytes: Bytes) {
    super();
    this.#bytes = bytes;
  }

  override read(into: Buffer, offset: number, length: number, at: number, done: ReadCallback): void {
    let bytesRead = 0;
    try {
      bytesRead = this.#bytes.read(into.subarray(offset, offset + length), at);
    } catch (thrown) {
      done(thrown instanceof Error ? thrown : new Error());
      return;
    }
    done(null, bytesRead);
  }
}

/** Bytes of a member's local header, without its name and extra fields. */
const headerBytes = 30;
const headerMagic = 0x04034b50;

/** Returns the content of a member, or the reason why the member cannot be read. */
const readContent = (bytes: Bytes, member: Member): Buffer | string => {
  const { generalPurposeBitFlag, uncompressedSize, compressedSize, offset } = member;
  if ((generalPurposeBitFlag & 1) === 1) return "it is encrypted";
  if (uncompressedSize > maxDocumentBytes) return documentTooLong;
  try {
    const header = readBytes(bytes, offset, headerBytes);
    if (header.readUInt32LE(0) !== headerMagic) return "the archive is damaged at the start of this member";
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
  if (into === undefined || bytes.read(into, start) < length)
    throw new UnreadableContent("the archive ends before the end of this member");
  return into;
};

const decompress = (compressed: Buffer, { compressionMethod, uncompressedSize }: Member) => {
  // Method 0 is stored, 8 is deflate, 93 is zstd.
  if (compressionMethod === 0) return compressed;
  if (compressionMethod === 8)
    return zlib.inflateRawSync(compressed, { maxOutputLength: Math.max(1, uncompressedSize) });
  if (compressionMethod === 93) return unzstd(compressed, uncompressedSize);
  throw new UnreadableContent(`its compression method ${compressionMethod} is not supported`);
};
