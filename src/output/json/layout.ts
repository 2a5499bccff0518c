/** Lays out the service's own JSON anew (on one line, or indented) without touching a spelling. */
import {
  closeBrace,
  closeBracket,
  colon,
  comma,
  endOfValue,
  isWhite,
  openBrace,
  openBracket,
  quote,
  type Span,
  skipWhite,
  textOf,
} from "../../json/walk.ts";

/** A value on one line: without the white space outside its strings. */
export const compactJson = (bytes: Uint8Array, span: Span): string => {
  const { start, end } = span;
  if (isCompact(bytes, span)) return textOf(bytes, span);
  const line = Buffer.allocUnsafe(end - start);
  let length = 0;
  for (let at = start; at < end; ) {
    const byte = bytes[at];
    if (byte === quote) {
      const after = endOfValue(bytes, at);
      line.set(bytes.subarray(at, after), length);
      length += after - at;
      at = after;
    } else {
      if (byte !== undefined && !isWhite(byte)) line[length++] = byte;
      at++;
    }
  }
  return line.toString("utf8", 0, length);
};

/** Whether no white space stands outside of its strings, as services write: it is not copied then. */
const isCompact = (bytes: Uint8Array, { start, end }: Span): boolean => {
  for (let at = start; at < end; ) {
    const byte = bytes[at];
    if (byte !== undefined && isWhite(byte)) return false;
    at = byte === quote ? endOfValue(bytes, at) : at + 1;
  }
  return true;
};

/** Levels that are indented: a reply may nest a hundred thousand deep. */
const deepestIndent = 40;

/**
 * Indents a document by two spaces a level, as a person reads it, piece after piece: a long one is never there as a whole.
 * No piece ends inside a string, a number or a word.
 */
export const openIndenter = (): ((bytes: Uint8Array) => string) => {
  let depth = 0;
  /** Whether a bracket was opened last: what stands in it begins a line, but its own end does not. */
  let isOpen = false;
  return (bytes) => {
    const parts: string[] = [];
    const line = () => parts.push("\n", "  ".repeat(Math.min(depth, deepestIndent)));
    const begin = () => {
      if (isOpen) line();
      isOpen = false;
    };
    for (let at = skipWhite(bytes, 0); at < bytes.length; at = skipWhite(bytes, at)) {
      const byte = bytes[at];
      if (byte === openBrace || byte === openBracket) {
        begin();
        parts.push(byte === openBrace ? "{" : "[");
        depth++;
        isOpen = true;
        at++;
      } else if (byte === closeBrace || byte === closeBracket) {
        depth--;
        if (!isOpen) line();
        isOpen = false;
        parts.push(byte === closeBrace ? "}" : "]");
        at++;
      } else if (byte === comma) {
        parts.push(",");
        line();
        at++;
      } else if (byte === colon) {
        parts.push(": ");
        at++;
      } else {
        begin();
        const after = Math.min(endOfValue(bytes, at), bytes.length);
        parts.push(textOf(bytes, { start: at, end: after }));
        at = after;
      }
    }
    return parts.join("");
  };
};
