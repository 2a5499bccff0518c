/** Moments as people type them: how long ago, or a date. */
import { Failure } from "../../failure.ts";

const dayMs = 86_400_000;

const unitMs: ReadonlyMap<string, number> = new Map([
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", dayMs],
  ["w", 604_800_000],
]);

const agePattern = /^(\d{1,6})([smhdw])$/;

/** Milliseconds of `30m` or `7d`; undefined for anything else. */
export const ageMs = (value: string): number | undefined => {
  const [, digits = "", unit = ""] = agePattern.exec(value) ?? [];
  const factor = unitMs.get(unit);
  return factor === undefined ? undefined : Number(digits) * factor;
};

/** Milliseconds of `30m` or `7d`. @throws Failure `option-value-wrong` */
export const parseAge = (value: string, { option }: { readonly option: string }): number => {
  const ms = ageMs(value);
  if (ms !== undefined) return ms;
  throw new Failure("option-value-wrong", { option, value, wanted: "a duration such as 30m, 12h or 7d" });
};

/** Days by their names, as days before today. */
const namedDays: ReadonlyMap<string, number> = new Map([
  ["today", 0],
  ["yesterday", 1],
]);

/** Milliseconds since 1970 of `30d` (ago), of the start of `yesterday`, or of an ISO 8601 date; days begin at midnight, UTC. @throws Failure `option-value-wrong` */
export const parseMoment = (
  value: string,
  { option, now }: { readonly option: string; readonly now: number },
): number => {
  const age = ageMs(value);
  if (age !== undefined) return now - age;
  const day = namedDays.get(value);
  if (day !== undefined) return Math.floor(now / dayMs - day) * dayMs;
  const date = /^\d{4}-\d{2}-\d{2}/.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(date)) {
    throw new Failure("option-value-wrong", {
      option,
      value,
      wanted: "an age such as 12h or 30d, yesterday, or a date such as 2026-01-31",
    });
  }
  return date;
};
