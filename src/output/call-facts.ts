/** What matters first of a traced call: its name, how it ended, how long it took, its tokens, cost and sizes. */

import { sumDecimals } from "../decimal.ts";
import { grouped, sizeText } from "./binary.ts";
import { inline, isNothing, membersOf, numberFrom, type Spelled, textFrom, valueAt } from "./spelled.ts";
import type { Tone } from "./view.ts";

/**
 * What the summary holds under the deployment's own word, or else anywhere one level down or at its top.
 * Assumed: no model is called `costs` or `status`.
 */
const inSummary = (call: Spelled, prefix: string, key: "costs" | "status"): Spelled | undefined => {
  const summary = valueAt(call, "summary");
  const elsewhere = membersOf(summary).map(({ value }) => valueAt(value, key));
  return valueAt(summary, prefix, key) ?? valueAt(summary, key) ?? elsewhere.find((value) => value !== undefined);
};

/** How a call stands. Assumed: `summary.<prefix>.status` is one word; `success`, `error` and `running` are known. */
export interface CallStatus {
  readonly text: string;
  readonly tone: Tone;
}

/** The name people know a call by: its own, else the one in its operation's reference. */
export const nameOf = (call: Spelled): string | undefined => {
  const own = textFrom(call, "display_name");
  if (own !== undefined && own !== "") return own;
  const operation = textFrom(call, "op_name");
  return operation === undefined || operation === "" ? undefined : operationName(operation);
};

/** Assumed: a reference is `<scheme>:///team/project/op/name:digest`. */
const operationName = (operation: string): string =>
  /^[a-z][a-z\d+.-]*:\/\/.*\/op\/([^/]+?)(?::[^:/]*)?$/i.exec(operation)?.[1] ?? operation;

/** Deleted, failed, running or ok, in this order; a status word nobody knows is shown beside. */
export const statusOf = (call: Spelled, prefix: string): CallStatus => {
  const said = textFrom(inSummary(call, prefix, "status"));
  const odd = said === undefined || ["success", "error", "running"].includes(said) ? "" : ` (${said})`;
  const exception = valueAt(call, "exception");
  if (valueAt(call, "deleted_at") !== undefined) return { text: `deleted${odd}`, tone: "faint" };
  if (said === "error" || (exception !== undefined && inline(exception) !== "")) {
    return { text: `failed${odd}`, tone: "bad" };
  }
  if (said === "running" || valueAt(call, "ended_at") === undefined) return { text: `running${odd}`, tone: "warning" };
  return { text: `ok${odd}`, tone: "good" };
};

/** From start to end, exact to the microsecond below a minute; undefined where it can't be known. */
export const durationOf = (call: Spelled): string | undefined => {
  const started = microseconds(textFrom(call, "started_at"));
  const ended = microseconds(textFrom(call, "ended_at"));
  if (started === undefined || ended === undefined) return undefined;
  return ended < started ? "not known: it ended before it started" : durationText(ended - started);
};

/** Microseconds since 1970. Assumed: a time without a zone is UTC. */
const microseconds = (text: string | undefined): number | undefined => {
  const match = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:\.(\d+))?\s*(Z|[+-]\d\d:?\d\d)?$/i.exec(text ?? "");
  if (match === null) return undefined;
  const [, day = "", time = "", fraction = "", zone = "Z"] = match;
  const whole = Date.parse(`${day}T${time}${zone.toUpperCase()}`);
  return Number.isNaN(whole) ? undefined : whole * 1000 + Number(fraction.padEnd(6, "0").slice(0, 6));
};

const durationText = (micros: number): string => {
  if (micros < 1_000_000) return `${micros / 1000} ms`;
  if (micros < 60_000_000) return `${micros / 1_000_000} s`;
  const seconds = Math.round(micros / 1_000_000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const rest = `${String(seconds % 60).padStart(2, "0")} s`;
  return hours === 0
    ? `${minutes} min ${rest}`
    : `${grouped(String(hours))} h ${String(minutes).padStart(2, "0")} min ${rest}`;
};

/** Tokens, a line a model. Assumed: `summary.usage[model]`, else `output.usage`, in either of two spellings. */
export const tokensOf = (call: Spelled): readonly string[] => {
  const models = membersOf(valueAt(call, "summary", "usage")).flatMap(({ key, value }) => usageText(value, key));
  return models.length > 0 ? models : usageText(valueAt(call, "output", "usage"), textFrom(call, "output", "model"));
};

const usageText = (usage: Spelled | undefined, model: string | undefined): readonly string[] => {
  const prompt = numberFrom(usage, "prompt_tokens") ?? numberFrom(usage, "input_tokens");
  const completion = numberFrom(usage, "completion_tokens") ?? numberFrom(usage, "output_tokens");
  const total = numberFrom(usage, "total_tokens");
  const parts = [
    ...(prompt === undefined ? [] : [`${grouped(prompt)} prompt`]),
    ...(completion === undefined ? [] : [`${grouped(completion)} completion`]),
    ...(total === undefined ? [] : [`${grouped(total)} total`]),
  ];
  return parts.length === 0 ? [] : [`${parts.join(", ")}${model === undefined ? "" : `  ${model}`}`];
};

/** Costs in US dollars, a line a model and a sum where there are several; empty where the service gave none. */
export const costsOf = (call: Spelled, prefix: string): readonly string[] => {
  const models = membersOf(inSummary(call, prefix, "costs")).flatMap(({ key, value }) => {
    const prompt = amountFrom(value, "prompt_tokens_total_cost");
    const completion = amountFrom(value, "completion_tokens_total_cost");
    const known = [prompt, completion].filter((cost) => cost !== undefined);
    if (known.length === 0) return [];
    const parts = [
      ...(prompt === undefined ? [] : [`$${exact(prompt)} prompt`]),
      ...(completion === undefined ? [] : [`$${exact(completion)} completion`]),
    ];
    const total = sumDecimals(known);
    return [{ known, text: `${total === undefined ? "" : `$${total} = `}${parts.join(" + ")}  ${key}` }];
  });
  const all = sumDecimals(models.flatMap(({ known }) => known));
  return [...models.map(({ text }) => text), ...(models.length > 1 && all !== undefined ? [`$${all} in all`] : [])];
};

/** An amount, also where it is spelled as a text. */
const amountFrom = (value: Spelled, key: string): string | undefined => numberFrom(value, key) ?? textFrom(value, key);

/** An amount without an exponent; one that is no decimal number stays as it is spelled. */
const exact = (cost: string): string => (/[eE]/.test(cost) ? (sumDecimals([cost]) ?? cost) : cost);

/** A size that was asked for. Assumed: the total is null on calls that are not a root. */
export const sizeOf = (call: Spelled, field: "storage_size_bytes" | "total_storage_size_bytes"): string => {
  const size = valueAt(call, field);
  if (size?.kind === "number") return exactSize(size.text);
  if (!isNothing(size)) return inline(size);
  const below = field === "total_storage_size_bytes" && valueAt(call, "parent_id") !== undefined;
  return below ? "not known: this is not a root call" : "not given by the service";
};

const exactSize = (digits: string): string => {
  const exactly = `${grouped(digits)} ${digits === "1" ? "byte" : "bytes"}`;
  return /^\d{5,}$/.test(digits) ? `${exactly} (${sizeText(Number(digits))})` : exactly;
};
