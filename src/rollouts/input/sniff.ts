/** Recognizes the kinds of files by their first bytes. */
import { UnusableInput } from "./failures.ts";

export type Container = "zip" | "parquet";

export const sniffedBytes = 512;

const pipeAdvice = (command: string) => `decompress it into a pipe: ${command} … | rollcall … -`;

type FileKind = Record<"bytes" | "kind", string> & { at?: number; advice?: string; container?: Container };

/** Files of a kind have `bytes` (in Latin-1) at the offset `at` (default: 0). */
const kinds: readonly FileKind[] = [
  { bytes: "PAR1", kind: "a Parquet file", container: "parquet" },
  { bytes: "PK\x03\x04", kind: "a zip file", advice: pipeAdvice("unzip -p"), container: "zip" },
  { bytes: "ustar", at: 257, kind: "a tar archive", advice: pipeAdvice("tar -xOf") },
  {
    bytes: "version https://git-lfs.github.com/spec/",
    kind: "a pointer of Git LFS instead of the file",
    advice: "fetch the file: `git lfs pull`",
  },
  { bytes: "\xfd7zXZ", kind: "an xz file", advice: pipeAdvice("xz -dc") },
  { bytes: "BZh", kind: "a bzip2 file", advice: pipeAdvice("bzip2 -dc") },
];

const findKind = (head: Uint8Array) => {
  const text = Buffer.from(head).toString("latin1");
  return kinds.find(({ bytes, at = 0 }) => text.startsWith(bytes, at));
};

export const findContainer = (head: Uint8Array) => findKind(head)?.container;

const notJson = (kind: string, advice = "convert it to JSON lines with one trajectory or group per line") =>
  new UnusableInput("not-json", { kind, instead: advice });

/** Returns undefined if the file can be JSON. */
export const findFormatError = (head: Uint8Array) => {
  const [a, b, c, d] = head;
  const latin1 = Buffer.from(head).toString("latin1");
  const utf16 = (encoding: string) => new UnusableInput("utf-16", { encoding });
  if (a === 0 && b === 0 && c === 0xfe && d === 0xff) return utf16("UTF-32BE");
  if (a === 0xff && b === 0xfe) return utf16(c === 0 && d === 0 ? "UTF-32LE" : "UTF-16LE");
  if (a === 0xfe && b === 0xff) return utf16("UTF-16BE");
  const known = findKind(head);
  if (known) return notJson(known.kind, known.advice);
  // In UTF-16, each ASCII character contains a NUL byte.
  if (head.length >= 4 && a !== 0 && b === 0 && c !== 0 && d === 0) return utf16("UTF-16LE");
  if (head.length >= 4 && a === 0 && b !== 0 && c === 0 && d !== 0) return utf16("UTF-16BE");
  if (binaryHead.test(latin1)) return notJson("binary data");
  return findTextError(latin1.replaceAll("\xef\xbb\xbf", "").trimStart());
};

/** Matches only NUL bytes, or the start of Arrow, HDF5, Avro, SQLite, PDF, pickles and empty zip files. */
const binaryHead = /^(?:\0+$|ARROW1|\x89HDF|Obj\x01|SQLite format 3|%PDF|\x80\x04\x95|PK\x05\x06)/;

/** Matches JSON after the first line, but not a Markdown link. */
const jsonLine = /\n[^\S\n]*(?:\{|\[\s*(?:[[{\]"\d-]|$))/;

/** Matches lines that are neither JSON nor values of Python. */
const proseLine = /^[ \t]*(?![-{}[\]",:\d]|(?:true|false|none|null|nan|infinity)\b)\S/gim;

const findTextError = (text: string) => {
  const table = notJson(
    "CSV or tab-separated text",
    "convert it to JSON lines, for example with csv.DictReader and json.dumps in Python",
  );
  // Tab-separated values are not quoted, so a row can begin like JSON.
  if (/^[\w .-]+(?:\t[\w .-]+)+\r?\n/.test(text)) return table;
  if (jsonLine.test(text)) return undefined;
  if (/^(?:<|---\s|- [\w"']|[a-z_][\w-]*:(?:\s|$))/i.test(text)) return notJson("data that is not JSON");
  if (/^(?:nan|-?infinity|true|false|null|none)\b/i.test(text)) return undefined;
  if (/^(?:[a-z_][\w .-]*|"[^"\n]*")([,;\t])(?=[^\n]*\n[^\n]*(?:"|\1)|[\w"]|$)/i.test(text)) return table;
  const isLink = /^\[[^"\n]*\]\(/.test(text);
  const isProse = isLink || (!/^[{["]/.test(text) && (text.match(proseLine)?.length ?? 0) > 1);
  return isProse ? notJson("data that is not JSON") : undefined;
};
