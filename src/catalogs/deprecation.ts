/** Days of a catalog: when a model came, and when it ends. */
import type { CatalogModel } from "../contract/catalog.ts";
import { Mistyped } from "../contract/fields.ts";

/** The day of a moment, in UTC, as `YYYY-MM-DD`: such texts compare as days do. */
export const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/**
 * The day of a model's deprecation; null where none is set, undefined where there is something that is no day.
 * Assumed: `YYYY-MM-DD`, or a time that begins with it.
 */
export const deprecationOf = ({ deprecation_date: date }: CatalogModel): string | null | undefined => {
  if (date === undefined || date === null || date === "") return null;
  if (date instanceof Mistyped) return undefined;
  const day = /^\d{4}-\d\d-\d\d(?!\d)/.exec(date)?.[0];
  return day !== undefined && isDay(day) ? day : undefined;
};

/** Whether there is such a day: no 31st of February. */
const isDay = (day: string): boolean => {
  const ms = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(ms) && dayOf(ms) === day;
};
