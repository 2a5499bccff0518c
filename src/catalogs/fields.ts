/** Reads the fields of catalog entries. */

import { isObject, type JsonObject } from "../json/json-bytes.ts";
import { ignoreErrors } from "../system/files.ts";
import { parseDecimal } from "../text/decimal.ts";
import { formatUnixDay, utcDay } from "../text/units.ts";
import type { CatalogModel } from "../wire/contract/models.ts";
import { toText } from "../wire/contract/replies.ts";

export const formatPlain = (value: unknown) =>
  typeof value === "string" ? value : (ignoreErrors(() => JSON.stringify(value)) ?? "(nested too deeply)");

export const parseAmount = (value: unknown) =>
  typeof value === "string" || typeof value === "number" ? parseDecimal(String(value).trim()) : undefined;

export const countryField = "datacenters.country_code";

export const listDatacenters = (datacenters: unknown): readonly JsonObject[] | undefined =>
  Array.isArray(datacenters) && datacenters.every(isObject) ? datacenters : undefined;

export const listCountries = (datacenters: unknown) =>
  listDatacenters(datacenters)?.flatMap(({ country_code: code = null }) => (code === null ? [] : formatPlain(code)));

/** Lists the data centers with their members besides the country. Returns undefined if none has any. */
export const listDatacenterMembers = (datacenters: unknown) => {
  const others = listDatacenters(datacenters)?.map(({ country_code: _, ...others }) => others) ?? [];
  return others.some((members) => Object.keys(members).length > 0) ? others : undefined;
};

/** Undefined if unreadable. Assumed: dates start with `YYYY-MM-DD`, or are Unix seconds. */
export const readDay = (date: unknown) => {
  if (typeof date === "number") return formatUnixDay(date);
  const day = /^\d{4}-\d\d-\d\d(?!\d)/.exec(toText(date) ?? "")?.[0];
  const ms = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(ms) && utcDay(ms) === day ? day : undefined;
};

/** Matches names of members that are false for a model that has ended. */
export const readyKey = /^(?:is_?)?(?:ready|active|available|enabled|public|visible|listed)$/i;

/** Matches names of members that are true, and statuses, of a model that has ended. */
export const endWord =
  /^(?:is_?)?(?:deprecated|retired|removed|disabled|unavailable|inactive|hidden|archived|paused|suspended|sunset|discontinued|obsolete|end[ _-]?of[ _-]?life|eol)$/i;

/** Matches names of members with the date of the end. */
const endKey =
  /(?:^|_)(?:deprecat(?:ed|ion)|expir(?:es|ed|ation|y)|retire(?:d|ment)|sunset|shutdown|end_?of_?life)(?:_?(?:date|at|on|time|day))?$/i;

/** What ends without the model. */
const otherEndKey =
  /(?:^|_)(?:cache|context|session|token|key|url|link|file|batch|trial|promo(?:tion)?|discount|offer)_/;

/** True for the name of a member with the date of the model's end. */
export const isEndKey = (key: string) => endKey.test(key) && !otherEndKey.test(key);

/** Assumed: services write these values for a model without an end. */
export const statesNoEnd = (value: unknown) =>
  value === null || value === false || /^(?:never|none|no|false|n\/a|null|)$/i.test(toText(value) ?? "-");

/** True for a model that has ended, whatever its dates are. A private model has not. */
export const isEnded = (entry: CatalogModel) =>
  Object.entries(entry).some(([key, value]) => {
    if (/public|visible|listed|hidden/i.test(key)) return false;
    if (readyKey.test(key)) return value === false;
    if (/^(?:status|state|stage|lifecycle\w*)$/.test(key)) return endWord.test(toText(value) ?? "");
    return value === true && endWord.test(key);
  });

/** Returns the first end of a model, null for a missing date, and undefined for an unreadable date. */
export const deprecationDay = (entry: CatalogModel) => {
  const stated = Object.entries(entry).flatMap(([key, date]) => (isEndKey(key) && !statesNoEnd(date) ? [date] : []));
  const days = stated.flatMap((date) => readDay(date) ?? []).sort();
  return stated.length === 0 ? null : days[0];
};

/** Each word is a part of the id or name, or a glob for the id. */
export const compilePattern = (pattern = "") => {
  const words = pattern.toLowerCase().split(/\s+/).filter(Boolean);
  return (id = "", name = "") => {
    const names = [id.toLowerCase(), name.toLowerCase()] as const;
    return words.every((word) =>
      /[*?]/.test(word) ? matchesGlob(Array.from(names[0]), word) : names.some((one) => one.includes(word)),
    );
  };
};

/** Matches the whole text. */
export const compileGlob = (glob: string) => {
  const pattern = glob.toLowerCase();
  return (text = "") => matchesGlob(Array.from(text.toLowerCase()), pattern);
};

/** A regular expression could backtrack for a long time. */
const matchesGlob = (text: readonly string[], glob: string) => {
  const all = [...text.keys(), text.length];
  /** The positions up to which `text` matches the processed part of `glob`. */
  let ends = [0];
  for (const char of glob) {
    if (char === "*") ends = all.slice(ends[0] ?? all.length);
    else ends = ends.flatMap((at) => (char === text[at] || (char === "?" && at < text.length) ? at + 1 : []));
  }
  return ends.at(-1) === text.length;
};
