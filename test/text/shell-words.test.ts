import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { formatCommandLine, splitWords } from "../../src/text/shell-words.ts";

describe("splitWords", () => {
  it.each<[line: string, words: readonly string[]]>([
    ['get a\\ b "c\\d \\"e" \'f\\g\'', ["get", "a b", 'c\\d "e', "f\\g"]],
    [' get\ta ""', ["get", "a", ""]],
    ["get \\", ["get", "\\"]],
    ["a 'b c' ", ["a", "b c", ""]],
  ])("splits a line by the rules of a shell (row %$)", (line, words) => {
    expect(splitWords(line).map(({ text }) => text)).toEqual(words);
  });

  it("has the position of an open quote in its word", () => {
    expect(splitWords('a b"c d').at(-1)).toEqual({ raw: 'b"c d', text: "bc d", open: { quote: '"', at: 1 } });
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
