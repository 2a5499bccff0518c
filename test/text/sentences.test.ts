import { describe, expect, it } from "vitest";
import * as sentences from "../../src/text/sentences.ts";

describe("formatList", () => {
  it("prints ten items, and counts all further items", () => {
    const items = Array.from({ length: 12 }, (_, at) => `${at}`);
    expect(sentences.formatList(items.slice(0, 10))).toBe("0, 1, 2, 3, 4, 5, 6, 7, 8, 9");
    expect(sentences.formatList(items)).toBe("0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more");
  });
});

describe("a part of a sentence", () => {
  it("counts rejected groups, and records that cannot be read", () => {
    const rejected = [{ rejected: 2 }, { rejected: 3, unreadable: 1 }, { rejected: 2, unreadable: 2 }];
    const [groups, both, records] = rejected.map(sentences.formatRejected);
    expect(both).toBe("2 groups and 1 unreadable record rejected");
    expect([groups, records]).toEqual(["2 groups rejected", "2 unreadable records rejected"]);
  });

  it("names a position as far as it is known", () => {
    const path = ["messages_and_choices", 3, "role"];
    const problem = { rule: "r", severity: "error", message: "m", file: "a", line: 2, column: 5, path } as const;
    expect(sentences.fieldPrefix(problem)).toBe("a:2:5: messages_and_choices.3.role: ");
    expect(sentences.fieldPrefix({ ...problem, path: [] })).toBe("a:2:5: ");
    expect(sentences.positionPrefix({ file: "-", line: 2 })).toBe("standard input:2: ");
    expect(sentences.positionPrefix({ line: 2 })).toBe("");
  });

  it("names options in any spelling, with the values that are given", () => {
    expect(["maxPrice", "max_price"].map(sentences.toOptionName)).toEqual(["--max-price", "--max-price"]);
    const options = { split: "a", limit: 3, batch: undefined, strict: true, lossy: false, groupBy: ["a", "b"] };
    expect(sentences.toOptionArgs(options).join(" ")).toBe("--split a --limit 3 --strict --group-by a --group-by b");
  });

  it("is blank if it means nothing or no", () => {
    const blank = ["", " ", "f", "False", "n", "no", "no error", "No Errors", "0", "null", "NONE", "nan", "n/a "];
    const others = ["00", "not", "t", "errors", "false alarm", "no errors found", "nil"];
    expect([...blank, ...others].filter((text) => sentences.isBlank(text))).toEqual(blank);
    expect([null, 0, [], { error: { message: null, code: 0 } }].filter((value) => !sentences.isBlank(value))).toEqual(
      [],
    );
    expect(
      [1, [[1]], { error: "x" }, JSON.parse("[".repeat(9) + "]".repeat(9))].filter((value) => sentences.isBlank(value)),
    ).toEqual([]);
  });

  it("is a path that is not an option", () => {
    expect(["-", "-a", "a-b", "--"].map(sentences.toFileArg)).toEqual(["-", "./-a", "a-b", "./--"]);
  });

  it("has the number of a noun, and of logged groups", () => {
    expect([0, 1, 2].map((count) => sentences.pluralize(count, "group"))).toEqual(["0 groups", "1 group", "2 groups"]);
    expect(sentences.pluralize(2, "entry", "entries")).toBe("2 entries");
    expect(sentences.formatLogged({ logged: 1, already_logged: 0 })).toBe("1 group logged");
    expect(sentences.formatLogged({ logged: 2, already_logged: 1 })).toBe("2 groups logged, 1 already logged");
  });

  it("suggests the nearest name, or another hint if there is one", () => {
    const suggestions = [sentences.formatSuggestion("a", "b"), sentences.formatSuggestion(undefined, "b")];
    expect([...suggestions, sentences.formatSuggestion(undefined)]).toStrictEqual([
      { hint: "did you mean a?" },
      { hint: "b" },
      {},
    ]);
  });

  it("names the profile of a command unless it is the default, and counts whole characters", () => {
    expect(["default", "work"].map((name) => sentences.inProfile("log", name))).toEqual(["log", "log --profile work"]);
    expect(sentences.countCharacters("a😀\ud83d")).toBe(3);
  });

  it("never has half of a character", () => {
    expect([2, 3, 4].map((units) => sentences.cutText("ab😀c", units))).toEqual(["ab", "ab", "ab😀"]);
  });
});

describe("the text of a code of the system", () => {
  it.each([
    ["EACCES", "permission denied"],
    ["EPERM", "not permitted"],
    ["EADDRINUSE", "another program uses the port"],
    ["EADDRNOTAVAIL", "this machine does not have the address"],
    ["ECONNREFUSED", "connection refused"],
    ["ENOTFOUND", "host not found"],
    ["NOT_HTTP", "an answer that is not HTTP"],
    ["SILENT", "no answer"],
    ["CUT", "the connection ended"],
    ["ABORTED", "the run was stopped"],
    ["died", "rollcall ended"],
    ["ENOSPC", "the disk is full"],
    ["EDQUOT", "the disk quota is exceeded"],
    ["EFBIG", "it is too large"],
    ["EMFILE", "too many files are open (raise the limit with ulimit -n)"],
    ["ENAMETOOLONG", "a name in the path is too long"],
    ["ENOENT", "it does not exist"],
    ["EISDIR", "it is a folder"],
    ["EEXIST", "a part of the path is a file"],
    ["ENOTDIR", "a part of the path is a file"],
    ["EROFS", "the file system is read-only"],
    ["not-a-file", "it is not a file"],
    ["outside-folder", "it is a link to a file outside of the folder"],
    ["SQLITE_CANTOPEN", "it cannot be opened"],
    ["SQLITE_READONLY", "it is read-only"],
    ["SQLITE_READONLY_DBMOVED", "it was moved or deleted"],
    ["SQLITE_IOERR_READ", "reading or writing failed (SQLITE_IOERR_READ)"],
    ["EODD", "EODD"],
  ])("%s is: %s", (code, text) => expect(sentences.describeSystemCode(code)).toBe(text));
});
