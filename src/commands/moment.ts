/** Moments as people type them: how long ago, or a date. */
import { Failure } from "../failure.ts";

const unitMs: ReadonlyMap<string, number> = new Map([
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
  ["w", 604_800_000],
]);

/** Milliseconds since 1970 of `30d` (ago) or of an ISO 8601 date. @throws Failure `option-value-wrong` */
export const parseMoment = (
  value: string,
  { option, now }: { readonly option: string; readonly now: number },
): number => {
  const [, digits = "", unit = ""] = /^(\d{1,6})([smhdw])$/.exec(value) ?? [];
  const factor = unitMs.get(unit);
  if (factor !== undefined) return now - Number(digits) * factor;
  const date = /^\d{4}-\d{2}-\d{2}/.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(date)) {
    throw new Failure("option-value-wrong", {
      option,
      value,
      wanted: "an age such as 12h or 30d, or a date such as 2026-01-31",
    });
  }
  return date;
};
