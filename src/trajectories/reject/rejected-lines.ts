/** The line that a rejected part stands on, byte for byte. */
import { crc32 } from "node:zlib";
import { Failure } from "../../failure.ts";
import { newline, skipWhite } from "../../json/walk.ts";
import type { Source } from "../input/source.ts";
import type { Part } from "../read/parts/columns.ts";

/** White space around a part that is looked at for the ends of its line. */
const marginBytes = 4096;

/** A part that is rejected, and where it stands. */
export interface RejectedPart {
  readonly source: Source;
  readonly part: Part;
  /** Whether the file may have been written anew since: one that is followed is, and goes on. */
  readonly isFollowed: boolean;
}

/** The bytes of a part. @throws Failure `input-changed` where they are no longer those that were read */
export const bytesOf = async (rejected: RejectedPart): Promise<Buffer> => {
  const { source, part } = rejected;
  const bytes = Buffer.alloc(part.length);
  return held(bytes.subarray(0, await source.bytes.read(bytes, part.start)), rejected);
};

/**
 * The line that a part is all of, with its end; for a part of a longer text, its bytes on a line of their own.
 * @throws Failure `input-changed`
 */
export const lineOf = async (rejected: RejectedPart): Promise<{ readonly line: Buffer; readonly isWhole: boolean }> => {
  const { source, part } = rejected;
  const { start, length } = part;
  const before = Math.min(start, marginBytes);
  const around = Buffer.alloc(before + length + marginBytes);
  const bytes = around.subarray(0, await source.bytes.read(around, start - before));
  const own = held(bytes.subarray(before, before + length), rejected);
  const behind = skipBlank(bytes, before + length);
  const first = lineStart(bytes, before);
  const isLine = first !== undefined && (bytes[behind] === newline || behind === bytes.length);
  if (isLine) return { line: bytes.subarray(first, behind + (bytes[behind] === newline ? 1 : 0)), isWhole: true };
  return { line: Buffer.concat([own, Buffer.from("\n")]), isWhole: false };
};

/** Bytes, held against what was read of a part. */
const held = (bytes: Buffer, { source, part, isFollowed }: RejectedPart): Buffer => {
  if (isFollowed || (bytes.length === part.length && crc32(bytes) === part.checksum)) return bytes;
  throw new Failure("input-changed", { file: source.name });
};

/** Offset behind the white space from `at` on that ends no line. */
const skipBlank = (bytes: Buffer, at: number): number => {
  const stop = bytes.indexOf(newline, at);
  return Math.min(skipWhite(bytes, at), stop < 0 ? bytes.length : stop);
};

/** Where the line begins whose first value stands at `at`; undefined where something stands before it. */
const lineStart = (bytes: Buffer, at: number): number | undefined => {
  const start = at === 0 ? 0 : bytes.lastIndexOf(newline, at - 1) + 1;
  const text = bytes.toString("latin1", start, at);
  if (/^[ \t\r]*$/.test(text)) return start;
  // A byte order mark belongs to the file, and not to its first line.
  return start === 0 && /^\u00ef\u00bb\u00bf[ \t\r]*$/.test(text) ? 3 : undefined;
};
