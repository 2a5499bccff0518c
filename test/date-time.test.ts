import { describe, expect, it } from "vitest";
import { isDateTime } from "../src/text/units.ts";

describe("a date and time", () => {
  it.each([
    "2024-02-29T23:59:60.5Z",
    "2025-11-01t09:30:00z",
    "2025-11-01 09:30",
    "2025-11-01T09:30:00,25+01:00",
    "2025-11-01T09:30:00-0830",
    "2025-11-01T09:30:00+01",
  ])("can be %s", (text) => expect(isDateTime(text)).toBe(true));

  it.each([
    "2025-02-29T00:00:00Z",
    "1900-02-29T00:00:00Z",
    "2025-11-31T00:00:00Z",
    "2025-11-01T24:00:00Z",
    "2025-11-01T09:30:61Z",
    "2025-11-01T09:30:00+24:00",
    "2025-11-01",
    "2025-13-01T00:00:00Z",
    "yesterday",
    "",
  ])("cannot be %s", (text) => expect(isDateTime(text)).toBe(false));
});
