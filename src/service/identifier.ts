/** Identifiers of calls: UUIDs of version 7, so that they sort by the time they were made. */
import { randomBytes } from "node:crypto";
import { closeBracket, comma, openBracket, quote } from "../json/walk.ts";

/** Bytes of an identifier. */
export const idBytes = 16;

/** How many counter values one millisecond has (RFC 9562, 6.2, method 1: 12 bits). */
const perMillisecond = 4096;

const timeBytes = 6;

/** `count` identifiers in ascending order, side by side. `now`: milliseconds since 1970. */
export const callIds = (count: number, now: number): Buffer => {
  const ids = randomBytes(count * idBytes);
  for (let index = 0, at = 0; index < count; index++, at += idBytes) {
    // The clock may be run ahead of where the counter overflows (RFC 9562, 6.2).
    ids.writeUIntBE(now + Math.floor(index / perMillisecond), at, timeBytes);
    ids.writeUInt16BE(0x7000 + (index % perMillisecond), at + timeBytes);
    ids[at + 8] = ((ids[at + 8] ?? 0) & 0x3f) | 0x80;
  }
  return ids;
};

/** The time of an identifier: milliseconds since 1970. */
export const timeOfId = (id: Uint8Array): number =>
  Buffer.from(id.buffer, id.byteOffset, id.length).readUIntBE(0, timeBytes);

/** The identifier as it is written; undefined where it is none that this service gives. */
export const parseId = (text: string): Buffer | undefined =>
  /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(text)
    ? Buffer.from(text.replaceAll("-", ""), "hex")
    : undefined;

/** Identifiers as a JSON array of texts. */
export const idsText = (ids: Uint8Array): string => {
  const count = ids.length / idBytes;
  if (count === 0) return "[]";
  const text = Buffer.alloc(count * textBytes + 1);
  let at = 0;
  for (let index = 0; index < ids.length; index++) {
    const place = index % idBytes;
    if (place === 0) {
      text[at++] = index === 0 ? openBracket : comma;
      text[at++] = quote;
    } else if (place === 4 || place === 6 || place === 8 || place === 10) text[at++] = hyphen;
    const byte = ids[index] ?? 0;
    text[at++] = digits[byte >>> 4] ?? 0;
    text[at++] = digits[byte & 15] ?? 0;
    if (place === idBytes - 1) text[at++] = quote;
  }
  text[at] = closeBracket;
  return text.toString("latin1");
};

/** Bytes of an identifier in the array: its digits and hyphens, quotes, and what stands before it. */
const textBytes = 36 + 3;

const digits = Buffer.from("0123456789abcdef");
const hyphen = 0x2d;
