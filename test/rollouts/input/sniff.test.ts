import { describe, expect, it } from "vitest";
import { findFormatError } from "../../../src/rollouts/input/sniff.ts";

const foundIn = (head: string | Uint8Array) => {
  const found = findFormatError(Buffer.from(head));
  if (found === undefined) return undefined;
  return found.rule === "utf-16" ? found.data.encoding : found.data.kind;
};

const marked = (...bytes: readonly number[]) => Uint8Array.from([...bytes, 0x7b, 0, 0, 0]);

describe("the first bytes of a file", () => {
  it.each([
    ["a tar archive", "a.jsonl".padEnd(257, "\0").concat("ustar")],
    ["an xz file", Buffer.from("\xfd7zXZ", "latin1")],
    ["a bzip2 file", "BZh9"],
    ["binary data", Buffer.alloc(512)],
    ["binary data", "SQLite format 3\0"],
    ["binary data", Buffer.from("\x89HDF", "latin1")],
    ["binary data", Buffer.from("\x80\x04\x95", "latin1")],
    ...["ARROW1", "Obj\x01", "PK\x05\x06"].map((head): [string, string] => ["binary data", head]),
    [undefined, '{"messages":[],"reward":1}\n\0\0'],
    ["UTF-32BE", marked(0, 0, 0xfe, 0xff)],
    ["UTF-32LE", marked(0xff, 0xfe, 0, 0)],
    ["UTF-16LE", marked(0xff, 0xfe)],
    ["UTF-16BE", marked(0xfe, 0xff)],
    ["UTF-16LE", "{\0}\0"],
    ["UTF-16BE", "\0{\0}"],
    ["data that is not JSON", "\ufeff <?xml version"],
    ["data that is not JSON", "<!doctype html>"],
    ["data that is not JSON", '<html lang="en">'],
    ["data that is not JSON", "<PLACEHOLDER ROW>\n"],
    ["data that is not JSON", "---\nmessages:"],
    ["data that is not JSON", "- role: user\n"],
    ["data that is not JSON", "messages:\n  - role: user\n"],
    ["CSV or tab-separated text", "id\tmessages\n1\t2\n"],
    ["CSV or tab-separated text", 'messages\treward\n[{"role":"user"}]\t1\n'],
    ["CSV or tab-separated text", "id;messages\n1;2\n"],
    ["CSV or tab-separated text", '"id",messages\n'],
    ["data that is not JSON", "# Results\n\nAll rollouts passed.\n"],
    ["data that is not JSON", "[![tests](badge.svg)](ci)\n\nAll rollouts passed.\n"],
    [undefined, "one line of text\n"],
    [undefined, "hello, not json\n"],
    [undefined, "null, 1\nNaN\n"],
    [undefined, 'note: rollouts\n{"messages":[]}\n'],
    [undefined, "rollouts\n[1]\n"],
    ["data that is not JSON", "See also\n[Results](results.md)\nand others\n"],
  ])("identify as %s (row %$)", (kind, head) => {
    expect(foundIn(head)).toBe(kind);
  });
});
