import { describe, expect, it } from "vitest";
import { quoteCode } from "../../src/output/ci-report.ts";

describe("quoteCode", () => {
  it.each([
    ["text on several lines", "a *b*\n\t<b>", "`a *b* <b>`"],
    ["backticks", "a `b` ``c", "```a `b` ``c```"],
    ["a backtick at an end", "`a", "`` `a ``"],
    ["pipes after backslashes", "a|b\\|c\\\\|\\", "`a\\|b\\ \\|c\\\\ \\|\\`"],
    ["white space", " \n", ""],
  ])("encloses %s", (_, text, quoted) => {
    expect(quoteCode(text)).toBe(quoted);
  });
});
