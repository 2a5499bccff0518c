/** How long to wait before trying again, and how long altogether. */
import type { Host } from "../host.ts";
import type { Patience } from "./client.ts";

/** The first wait is at most this long; each further one at most twice as long as the one before. */
const firstWaitMs = 500;
/** No wait of its own choosing is longer. */
const longestWaitMs = 30_000;
/** No wait is shorter, so that chance can't make a loop without pause. */
const shortestWaitMs = 50;

/** A bound for the waits of one run. */
export const openPatience = (about: { readonly host: Host; readonly maxWaitMs: number }): Patience => {
  const { host } = about;
  let left = about.maxWaitMs;
  let tries = 0;
  return {
    async wait(askedMs) {
      const own = Math.max(shortestWaitMs, host.random() * Math.min(longestWaitMs, firstWaitMs * 2 ** tries));
      // What a service asks for is the least: one that asks for nothing, again and again, is not hammered.
      const ms = Math.max(askedMs ?? 0, Math.min(own, left));
      if (left <= 0 || ms > left) return false;
      tries++;
      left -= ms;
      await host.sleep(ms, host.signal);
      return true;
    },
  };
};

/**
 * How long a service asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date (RFC 9110, 10.2.3).
 * Undefined where it asks nothing that can be read.
 */
export const retryAfterMs = (headers: Readonly<Record<string, string>>, now: number): number | undefined => {
  const exact = numberOf(headers["retry-after-ms"]);
  if (exact !== undefined) return exact;
  const text = headers["retry-after"]?.trim();
  const seconds = numberOf(text);
  if (seconds !== undefined) return seconds * 1000;
  const date = text === undefined || !/[a-z]/i.test(text) ? Number.NaN : Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
};

const numberOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^\s*\d{1,12}(\.\d+)?\s*$/.test(text) ? Number(text) : undefined;
