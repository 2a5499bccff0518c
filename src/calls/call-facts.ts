/** Reads the facts of a traced call (interface 2.4). */

import * as raw from "../json/raw-json.ts";
import { isDateTime } from "../text/units.ts";

/** Assumed: `op_name` is a name, or `<scheme>:///team/project/op/name:digest`. */
export const findOperation = (call: raw.RawJson) => {
  const operation = raw.textAt(call, "op_name") || undefined;
  return /^[a-z][a-z\d+.-]*:\/\/.*\/op\/([^/]+?)(?::[^:/]*)?$/i.exec(operation ?? "")?.[1] ?? operation;
};

const readStatus = (call: raw.RawJson, prefix: string) => raw.textAt(findInSummary(call, prefix, "status"));

/** Assumed: a running call has the status `running`. Statuses other than those of interface 2.4 are as stated. */
export const findState = (call: raw.RawJson, prefix: string) => {
  const stated = readStatus(call, prefix) || "success";
  const status = stated.toLowerCase();
  if (hasValue(call, "deleted_at")) return "deleted";
  if (status === "error" || hasValue(call, "exception")) return "failed";
  if (status === "running" || !hasValue(call, "ended_at")) return "running";
  return status === "success" ? "ok" : stated;
};

const hasValue = (call: raw.RawJson, field: string) => (raw.findValue(call, field)?.json ?? '""') !== '""';

export const findDurationMicros = (call: raw.RawJson) => {
  const started = parseMicros(raw.textAt(call, "started_at"));
  const ended = parseMicros(raw.textAt(call, "ended_at"));
  return started === undefined || ended === undefined ? undefined : ended - started;
};

/** Microseconds since 1970. Assumed: a time without an offset is UTC. */
const parseMicros = (text: string | undefined) => {
  const match = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:\.(\d+))?\s*(Z|[+-]\d\d:?\d\d)?$/i.exec(text ?? "");
  if (match === null) return undefined;
  const [, day = "", time = "", fraction = "", zone = "Z"] = match;
  const whole = Date.parse(`${day}T${time}${zone.toUpperCase()}`);
  if (!isDateTime(`${day}T00:00`)) return undefined;
  return Number.isNaN(whole) ? undefined : whole * 1000 + Number(fraction.padEnd(6, "0").slice(0, 6));
};

export const findModels = (call: raw.RawJson, prefix: string): readonly string[] => {
  const used = [raw.findValue(call, "summary", "usage"), findCosts(call, prefix)].flatMap(raw.membersOf);
  if (used.length > 0) return [...new Set(used.map(({ key }) => key))];
  return [raw.textAt(call, "output", "model") || raw.textAt(call, "inputs", "model") || ""].filter(Boolean);
};

export const findCosts = (call: raw.RawJson, prefix: string) => findInSummary(call, prefix, "costs");

/** Assumed: `key` is in `summary`, or in an object inside it. */
const findInSummary = (call: raw.RawJson, prefix: string, key: "costs" | "status") => {
  const summary = raw.findValue(call, "summary");
  const elsewhere = raw.membersOf(summary).map(({ value }) => raw.findValue(value, key));
  return (
    raw.findValue(summary, prefix, key) ?? raw.findValue(summary, key) ?? elsewhere.find((value) => value !== undefined)
  );
};

/** The fields of a call in the order of interface 2.4. */
export const callFields: readonly string[] = `id project_id op_name trace_id started_at attributes inputs display_name
  parent_id thread_id turn_id ended_at exception output summary vendor_user_id vendor_username vendor_run_id
  vendor_run_step vendor_run_step_end deleted_at storage_size_bytes total_storage_size_bytes`.split(/\s+/);

export const withPrefix = (field: string, prefix: string) => field.replace(/^vendor_/, `${prefix}_`);

export const listFieldNames = (prefix: string) => callFields.flatMap((field) => [field, withPrefix(field, prefix)]);
