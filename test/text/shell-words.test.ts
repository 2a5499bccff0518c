import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { formatCommandLine, splitCommandLine } from "../../src/text/shell-words.ts";

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
  ])("splits a line by the rules of a shell, and not after an open quote or escape (row %$)", (line, words) => {
    expect(splitCommandLine(line, { windows: false })).toEqual(words);
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
      const env = { ...process.env, LC_ALL: "C.UTF-8" };
      expect(
        execFileSync("bash", ["-c", `printf '%s\\0' ${line}`], { env })
          .toString()
          .split("\0"),
      ).toEqual([...words, ""]);
    },
  );
});
