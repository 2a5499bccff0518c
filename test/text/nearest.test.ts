import { describe, expect, it } from "vitest";
import { findNearest, toSnakeCase } from "../../src/text/nearest.ts";

it.each([
  ["maxTokens", "max_tokens"],
  ["top2K", "top2_k"],
  ["max_tokens", "max_tokens"],
  ["ID", "id"],
  ["userID", "user_id"],
])("toSnakeCase writes %s as %s", (name, snakeCase) => expect(toSnakeCase(name)).toBe(snakeCase));

describe("findNearest", () => {
  it.each<[typed: string, candidates: string, nearest: string | undefined]>([
    ["zs", "bash zsh fish", "zsh"],
    ["lgo", "log check", "log"],
    ["abc", "axy", undefined],
    ["abxy", "abcd abyz", undefined],
    ["abyz", "abxy", undefined],
    ["abdc", "abdd abcd", "abdd"],
    ["abcde", "abcxy", "abcxy"],
    ["a", "b", undefined],
    ["abcdef", "abcdxy", "abcdxy"],
    ["abcdef", "abcxyz", undefined],
    ["abcdefg", "abcdxyz", "abcdxyz"],
    ["abcdefg", "abcwxyz", undefined],
    ["spilt", "splat split", "split"],
    ["MODEL", "log MoDEL", "MoDEL"],
    ["cat", "log catalog", undefined],
  ])("finds the word with the fewest changes, and none with too many (row %$)", (typed, candidates, nearest) => {
    expect(findNearest(typed, candidates.split(" "))).toBe(nearest);
  });
});
