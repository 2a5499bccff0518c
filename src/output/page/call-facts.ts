/** What matters first of a traced call, as text: how it ended, how long it took, its tokens, cost and sizes. */
import { type Cost, costsOf, microsecondsOf, saidStatus, stateOf, totalCost, usagesOf } from "../../calls/index.ts";
import { formatDecimal, sumDecimals } from "../../decimal.ts";
import { inline, isNothing, type Spelled, valueAt } from "../../json/spelled.ts";
import type { Tone } from "../view.ts";
import { grouped, sizeText } from "./binary.ts";

/** How a call stands. */
export interface CallStatus {
  readonly text: string;
  readonly tone: Tone;
}

const tones = { ok: "good", failed: "bad", running: "warning", deleted: "faint" } as const;

/** Deleted, failed, running or ok; a status word nobody knows is shown beside. */
export const statusOf = (call: Spelled, prefix: string): CallStatus => {
  const said = saidStatus(call, prefix);
  const odd = said === undefined || ["success", "error", "running"].includes(said) ? "" : ` (${said})`;
  const state = stateOf(call, prefix);
  return { text: `${state}${odd}`, tone: tones[state] };
};

/** From start to end, exact to the microsecond below a minute; undefined where it can't be known. */
export const durationOf = (call: Spelled): string | undefined => {
  const micros = microsecondsOf(call);
  if (micros === undefined) return undefined;
  return micros < 0 ? "not known: it ended before it started" : durationText(micros);
};

/** A duration for a person. */
export const durationText = (micros: number): string => {
  if (micros < 1_000_000) return `${micros / 1000} ms`;
  if (micros < 60_000_000) return `${micros / 1_000_000} s`;
  const seconds = Math.round(micros / 1_000_000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const rest = `${String(seconds % 60).padStart(2, "0")} s`;
  return hours === 0
    ? `${minutes} min ${rest}`
    : `${grouped(String(hours))} h ${String(minutes).padStart(2, "0")} min ${rest}`;
};

/** Tokens, a line a model. */
export const tokensOf = (call: Spelled): readonly string[] =>
  usagesOf(call).map(({ model, prompt, completion, total }) => {
    const parts = [
      ...(prompt === undefined ? [] : [`${grouped(prompt)} prompt`]),
      ...(completion === undefined ? [] : [`${grouped(completion)} completion`]),
      ...(total === undefined ? [] : [`${grouped(total)} total`]),
    ];
    return `${parts.join(", ")}${model === undefined ? "" : `  ${model}`}`;
  });

/** Costs, a line a model and a sum where there are several; empty where the service gave none. */
export const costLines = (call: Spelled, prefix: string): readonly string[] => {
  const costs = costsOf(call, prefix);
  const all = costs.length > 1 ? totalCost(costs) : undefined;
  return [...costs.map(costText), ...(all === undefined ? [] : [`$${all} in all`])];
};

const costText = ({ model, parts, unit, total }: Cost): string => {
  const money = (amount: string): string => (unit === "USD" ? `$${amount}` : `${amount} ${unit}`);
  const shown = parts.map(({ what, amount }) => `${money(exact(amount))} ${what}`).join(" + ");
  return `${total === undefined ? "" : `${money(formatDecimal(total))} = `}${shown}  ${model}`;
};

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
