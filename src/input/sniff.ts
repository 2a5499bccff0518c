/** Says by its first bytes what a file is that is not JSON lines. */
import type { RuleData } from "../check/rules/rules.ts";

/** Files of other tools that are no text. */
export type Container = "zip" | "parquet";

/** What the first bytes say: undefined where they may be JSON. */
type Sniffed =
  | { readonly rule: "utf-16"; readonly data: RuleData<"utf-16"> }
  | { readonly rule: "not-json"; readonly data: RuleData<"not-json">; readonly container?: Container | undefined }
  | undefined;

/** Number of first bytes that `sniff` wants to see. */
export const sniffedBytes = 512;

const dataFile = "convert it to JSON lines, one trajectory or group on each line";

/** First bytes of files that people have beside their JSON lines. */
const kinds: readonly {
  readonly bytes: readonly number[];
  readonly at?: number;
  readonly kind: string;
  readonly instead: string;
  readonly container?: Container;
}[] = [
  { bytes: [0x50, 0x41, 0x52, 0x31], kind: "a Parquet file", instead: dataFile, container: "parquet" },
  {
    bytes: [0x50, 0x4b, 0x03, 0x04],
    kind: "a zip file",
    instead: "unpack it into a pipe: unzip -p … | rollcall … -",
    container: "zip",
  },
  { bytes: [0x50, 0x4b, 0x05, 0x06], kind: "an empty zip file", instead: "give the file that was to be packed" },
  {
    bytes: [...Buffer.from("ustar")],
    at: 257,
    kind: "a tar archive",
    instead: "unpack it into a pipe: tar -xOf … | rollcall … -",
  },
  {
    bytes: [...Buffer.from("version https://git-lfs.github.com/spec/")],
    kind: "a pointer of Git LFS instead of the file",
    instead: "fetch the file itself: git lfs pull",
  },
  {
    bytes: [0xfd, 0x37, 0x7a, 0x58, 0x5a],
    kind: "an xz file",
    instead: "unpack it into a pipe: xz -dc … | rollcall … -",
  },
  { bytes: [0x42, 0x5a, 0x68], kind: "a bzip2 file", instead: "unpack it into a pipe: bzip2 -dc … | rollcall … -" },
  { bytes: [0x41, 0x52, 0x52, 0x4f, 0x57, 0x31], kind: "an Arrow file", instead: dataFile },
  { bytes: [0x89, 0x48, 0x44, 0x46], kind: "an HDF5 file", instead: dataFile },
  { bytes: [0x4f, 0x62, 0x6a, 0x01], kind: "an Avro file", instead: dataFile },
  { bytes: [...Buffer.from("SQLite format 3")], kind: "an SQLite database", instead: dataFile },
  { bytes: [0x25, 0x50, 0x44, 0x46], kind: "a PDF", instead: dataFile },
  { bytes: [0x80, 0x04, 0x95], kind: "a Python pickle", instead: dataFile },
];

/** What holds the rollouts of a file, by its first bytes; undefined where it is text. */
export const containerOf = (head: Uint8Array): Container | undefined => {
  const sniffed = sniff(head);
  return sniffed?.rule === "not-json" ? sniffed.container : undefined;
};

/** What a file is, by its first bytes. */
export const sniff = (head: Uint8Array): Sniffed => {
  const [a, b, c, d] = head;
  if (a === 0 && b === 0 && c === 0xfe && d === 0xff) return utf16("UTF-32 (big-endian)");
  if (a === 0xff && b === 0xfe) return utf16(c === 0 && d === 0 ? "UTF-32 (little-endian)" : "UTF-16 (little-endian)");
  if (a === 0xfe && b === 0xff) return utf16("UTF-16 (big-endian)");
  for (const { bytes, at: start = 0, kind, instead, container } of kinds) {
    if (bytes.every((byte, at) => head[start + at] === byte))
      return { rule: "not-json", data: { kind, instead }, container };
  }
  if (head.length === sniffedBytes && head.every((byte) => byte === 0)) {
    return {
      rule: "not-json",
      data: { kind: "a file that begins with nothing but NUL bytes", instead: "write it again" },
    };
  }
  // Without a mark: ASCII in UTF-16 has a NUL beside every character.
  if (head.length >= 4 && a !== 0 && b === 0 && c !== 0 && d === 0) return utf16("UTF-16 (little-endian)");
  if (head.length >= 4 && a === 0 && b !== 0 && c === 0 && d !== 0) return utf16("UTF-16 (big-endian)");
  const kind = textKind(Buffer.from(head).toString("latin1").trimStart());
  return kind === undefined ? undefined : { rule: "not-json", data: { kind, instead: dataFile } };
};

/** What a text is called that is no JSON, and begins as XML does. */
export const markup = "XML or HTML";

/** What a text is that is no JSON: said only where no later line looks like JSON. */
const textKind = (text: string): string | undefined => {
  if (/\n\s*[{[]/.test(text)) return undefined;
  if (/^<(?:[?!a-z])/i.test(text)) return markup;
  if (/^(?:---\s|- [\w"']|[a-z_][\w-]*:(?:\s|$))/i.test(text)) return "YAML";
  if (/^(?:nan|-?infinity|true|false|null|none)\b/i.test(text)) return undefined;
  const [, separator] = /^(?:[a-z_][\w .-]*|"[^"\n]*")([,;\t])(?=[^\n]*\n|[\w"]|$)/i.exec(text) ?? [];
  return separator === undefined ? undefined : separator === "\t" ? "tab-separated text" : "CSV";
};

const utf16 = (encoding: string): Sniffed => ({ rule: "utf-16", data: { encoding } });

/** Bytes by which a file is told that begins as the interface's own shapes mostly do. */
export const ownHeadBytes = 32;

/** Whether a file begins so: what formats of other tools there are is then not even loaded. */
export const beginsAsOwn = (head: Buffer): boolean =>
  /^[\s\ufeff[]*\{\s*"(?:trajector|messages_and_choices|split)/.test(head.toString("utf8", 0, ownHeadBytes));

/** Bytes at the beginning that say whether a file is in the interface's own shape. */
export const ownKeyBytes = 2 ** 16;

/** Whether a key of the interface's own shapes stands there, whatever stands before it. */
export const holdsOwnKey = (head: Buffer): boolean =>
  /"(?:messages_and_choices|trajectories|trajectory_groups)"\s*:/.test(head.toString("latin1", 0, ownKeyBytes));
