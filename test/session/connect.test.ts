import { expect, it } from "vitest";
import { formatRetry } from "../../src/session/connect.ts";

it.each([
  [250, 750, "retrying in 0.3 s (attempt 2, 1 s left)"],
  [9999, 1, "retrying in 10 s (attempt 2, 10 s left)"],
  [10_001, 290_000, "retrying in 11 s (attempt 2, 301 s left)"],
])("formatRetry rounds %d ms and the time that is left up", (waitMs, leftMs, text) => {
  expect(formatRetry({ attempt: 2, waitMs, leftMs })).toBe(text);
});
