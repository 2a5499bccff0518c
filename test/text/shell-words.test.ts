import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { formatCommandLine, quoteText, splitCommandLine, splitWords } from "../../src/text/shell-words.ts";

describe("splitCommandLine", () => {
  it.each<[line: string, words: readonly string[] | undefined]>([
    ['C:\\bin\\get.exe  "a b" \'c d\' \\"e', ["C:\\bin\\get.exe", "a b", "'c", "d'", '"e']],
    ['"C:\\a b\\" ', undefined],
    ["get \\", ["get", "\\"]],
  ])("splits a line by the rules of Windows, and not after an open quote (row %$)", (line, words) => {
    expect(splitCommandLine(line, { windows: true })).toEqual(words);
  });

  it.each<[line: string, words: readonly string[] | undefined]>([
    ['get a\\ b "c\\d \\"e" \'f\\g\'', ["get", "a b", 'c\\d "e', "f\\g"]],
    ["get 'a", undefined],
    ["get \\", undefined],
    [' get\ta "" ', ["get", "a", ""]],
    ["", []],
  ])("splits a line by the rules of a shell, and not after an open quote or escape (row %$)", (line, words) => {
    expect(splitCommandLine(line, { windows: false })).toEqual(words);
  });
});

describe("quoteText", () => {
  it("escapes for each quote what a shell would change, and refuses history expansion in double quotes", () => {
    const quote = (text: string) => (["", "'", '"'] as const).map((mark) => quoteText(text, mark));
    expect(quote("a b'c")).toEqual(["a\\ b\\'c", "a b'\\''c", "a b'c"]);
    expect(quote('"$`\\')).toEqual(['\\"\\$\\`\\\\', '"$`\\', '\\"\\$\\`\\\\']);
    expect(quote("é!")).toEqual(["é\\!", "é!", undefined]);
  });
});

describe("splitWords", () => {
  it("has an empty last word after white space, and the position of an open quote in its word", () => {
    expect(splitWords("a 'b c' ").map(({ raw, text }) => [raw, text])).toEqual([
      ["a", "a"],
      ["'b c'", "b c"],
      ["", ""],
    ]);
    expect(splitWords('a b"c d').at(-1)).toMatchObject({ raw: 'b"c d', text: "bc d", open: { quote: '"', at: 1 } });
    expect(splitWords("a\\ b").at(-1)).toMatchObject({ text: "a b", open: { quote: "" }, isEscaping: false });
  });
});

describe("formatCommandLine", () => {
  it("quotes words that a shell would change", () => {
    expect(formatCommandLine(["a-b_c@d%e+f=g:h,i./j", "ü", "", "a b", "it's", "$x"])).toBe(
      "a-b_c@d%e+f=g:h,i./j ü '' 'a b' 'it'\\''s' '$x'",
    );
  });

  it.skipIf(process.platform === "win32")(
    "quotes control characters, so that a line is copied and run as it was",
    () => {
      const words = ["a // b\n && c's\\", "tab\tand\u00a0space", "\u001b[31mred", "\u202eleft", "\u{e0041}tag"];
      const line = formatCommandLine(words);
      expect(line).toMatch(/^[\w $'\\/&[]+$/);
      expect(line).toMatch(/\\n.*\\u0009.*\\u202e.*\\U000e0041/);
      const env = { ...process.env, LC_ALL: "C.UTF-8" };
      expect(
        execFileSync("bash", ["-c", `printf '%s\\0' ${line}`], { env })
          .toString()
          .split("\0"),
      ).toEqual([...words, ""]);
    },
  );
});
