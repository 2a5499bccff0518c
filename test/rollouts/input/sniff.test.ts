import { describe, expect, it } from "vitest";
import { findFormatError } from "../../../src/rollouts/input/sniff.ts";
import { Problems } from "../../../src/rollouts/rules/problems.ts";

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
    ["XML or HTML", "\ufeff <?xml version"],
    ["XML or HTML", "<!doctype html>"],
    ["XML or HTML", '<html lang="en">'],
    ["data that is not JSON", "<PLACEHOLDER ROW>\n"],
    ["YAML", "---\nmessages:"],
    ["YAML", "- role: user\n"],
    ["YAML", "messages:\n  - role: user\n"],
    ["tab-separated text", "id\tmessages\n1\t2\n"],
    ["tab-separated text", 'messages\treward\n[{"role":"user"}]\t1\n'],
    ["CSV", "id;messages\n1;2\n"],
    ["CSV", '"id",messages\n'],
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

  it.each([
    ["my rows.csv", "< 'my rows.csv' > 'my rows.rows.jsonl'"],
    ["csv.jsonl", "< csv.jsonl > csv.rows.jsonl"],
    ["-", "< rows.csv > rows.jsonl"],
  ])("give, for CSV, the command that converts it to JSON lines (row %$)", (name, files) => {
    const instead = expect.stringContaining(`${files}\``);
    expect(findFormatError(Buffer.from("id,messages,reward\n"), name)?.data).toMatchObject({ instead });
  });

  it.each([
    ["id;messages;reward\n", "delimiter=';'"],
    ["id\tmessages\treward\n", "delimiter='\\t'"],
  ])("give, for a table, a command that reads its separator (row %$)", (header, delimiter) => {
    const instead = expect.stringContaining(`csv.DictReader(sys.stdin, ${delimiter})`);
    expect(findFormatError(Buffer.from(header))?.data).toMatchObject({ instead });
  });

  it.each([
    ["runs/a.jsonl", "iconv -f UTF-16LE -t UTF-8 runs/a.jsonl > runs/a.utf-8.jsonl"],
    ["my rows.csv", "iconv -f UTF-16LE -t UTF-8 'my rows.csv' > 'my rows.utf-8.csv'"],
    ["runs/a", "iconv -f UTF-16LE -t UTF-8 runs/a > runs/a.utf-8.jsonl"],
    ["-", "iconv -f UTF-16LE -t UTF-8"],
  ])("give, for UTF-16, the command that converts the file or standard input (row %$)", (name, command) => {
    const found = findFormatError(marked(0xff, 0xfe), name);
    const problems = new Problems();
    found?.report(problems, name);
    expect(problems.sorted()).toMatchObject([{ rule: "utf-16", advice: expect.stringContaining(`\`${command}\``) }]);
  });
});
