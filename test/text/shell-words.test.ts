import { execFileSync } from "node:child_process";
import { afterAll, describe, expect, it } from "vitest";
import {
  formatCommandLine,
  formatOwnCommand,
  nameProgram,
  nameProgramAfter,
  splitWords,
} from "../../src/text/shell-words.ts";

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

afterAll(() => nameProgramAfter("rollcall", "/"));

it.each([
  ["/usr/bin/rollcall", "/home/a", "rollcall"],
  ["/home/a/rollcall", "/home/a", "rollcall"],
  ["/home/a/node_modules/rollcall/bin/rollcall.js", "/home/a", "rollcall"],
  ["C:\\a\\node_modules\\rollcall\\bin\\rollcall.js", "C:\\a", "rollcall"],
  ["/home/a/roll/bin/rollcall.js", "/home/a/roll", "node bin/rollcall.js"],
  ["/home/a/roll/bin/rollcall.js", "/home/a", "node roll/bin/rollcall.js"],
  ["/home/a/rollcall/bin/rollcall.js", "/home/a/roll", "node /home/a/rollcall/bin/rollcall.js"],
  ["/home/a/roll/bin/rollcall.js", "/home/a/roll/bin/more", "node /home/a/roll/bin/rollcall.js"],
  ["/home/a/roll/bin/rollcall.js", "/home/b", "node /home/a/roll/bin/rollcall.js"],
  ["/home/a b/rollcall.mjs", "/home", "node 'a b/rollcall.mjs'"],
  ["/home/a/rollcall.cjs", "/", "node /home/a/rollcall.cjs"],
])("commands name the program %s in the folder %s as %s", (script, folder, name) => {
  nameProgramAfter(script, folder);
  expect(formatOwnCommand(["check", "a b"])).toBe(`${name} check 'a b'`);
  expect(nameProgram("run `rollcall check | rollcall stats`, not rollcall")).toBe(
    `run \`${name} check | ${name} stats\`, not rollcall`,
  );
});
