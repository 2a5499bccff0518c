/** Decides which reads are retried, and how long and how often requests are. */
import { isDateTime } from "../../text/units.ts";
import type { ReplyHeaders } from "../contract/replies.ts";
import type { ClientOptions, Retry } from "./build-request.ts";
import type { ExchangeResult } from "./exchange.ts";
import { isQuotaUsedUp } from "./reply-body.ts";
import { isRetryable } from "./transport-error.ts";

/** Default of `--timeout` for a read (guarantees.md). */
export const readSilenceMs = 30_000;
/** The time limit for a reply, in multiples of `--timeout`. */
export const replyTimeoutFactor = 2;

export const isSuccess = (status?: number): status is number => status !== undefined && status >= 200 && status < 300;

/** Returns true if a later read can succeed (guarantees.md). */
export const isTransientStatus = (status: number) =>
  status === 408 || status === 429 || (status >= 500 && status !== 501 && status !== 505);

type TimedResult = ExchangeResult & { retryAfterMs: number | undefined };

/** Returns undefined if a retry does not help. */
export const findRetry = ({ status, bytes, error, retryAfterMs }: TimedResult, { waitsForHost }: ClientOptions) => {
  if (status === undefined || isSuccess(status))
    return error && isRetryable(error, waitsForHost) ? { reason: error.code, minMs: undefined } : undefined;
  const isRetried = isTransientStatus(status) && !isQuotaUsedUp(status, bytes);
  return isRetried ? { reason: status, minMs: retryAfterMs } : undefined;
};

export const openRetryNotices = (onRetry: ClientOptions["onRetry"]) => {
  const announced = new Set<string>();
  return (reason: string, retry: Retry) => {
    const key = `${retry.attempt} ${reason}`;
    if ((retry.attempt <= 3 && retry.waitMs < 1000) || announced.has(key)) return;
    announced.add(key);
    onRetry?.(reason, retry);
  };
};

/** `Retry-After` contains seconds or a date (RFC 9110, 10.2.3). Anything else counts as absent. */
export const parseRetryAfter = (headers: ReplyHeaders, now: number) => {
  const { "retry-after": text = "", "retry-after-ms": msText = "" } = headers;
  // A header that appears twice arrives as one text. Dates contain a comma, too.
  const wishes = text.split(/(?<!^\s*[a-z]+|,\s*[a-z]+)\s*,\s*/i).map((wish) => parseWish(wish.trim(), now));
  const longest = wishes.every((wish) => wish !== undefined) ? Math.max(...wishes) : undefined;
  const ms = /^\s*\d+(\.\d+)?\s*$/.test(msText) ? Number(msText) : longest;
  return { hasRetryAfter: longest !== undefined, retryAfterMs: ms };
};

const parseWish = (text: string, now: number) => {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  const ms = parseDate(text);
  return Number.isNaN(ms) ? undefined : Math.max(0, ms - now);
};

/** The three forms of HTTP dates (RFC 9110, 5.6.7), all in UTC. */
const dateForms = [
  /^[a-z]{3}, (\d{1,2}) [a-z]{3} \d{4} (\d\d:\d\d:\d\d) (?:GMT|UTC|[+-]0000)$/i,
  /^[a-z]{6,9}, (\d\d)-[a-z]{3}-\d\d (\d\d:\d\d:\d\d) GMT$/i,
  /^[a-z]{3} [a-z]{3} ([ \d]\d) (\d\d:\d\d:\d\d) \d{4}$/i,
];

/** Parses an HTTP date, or a date of RFC 3339. NaN for others, and for impossible ones such as the 31st of February. */
const parseDate = (text: string) => {
  if (/(?:Z|[+-]\d\d:\d\d)$/i.test(text) && isDateTime(text)) return Date.parse(text);
  const [, day, time = "none"] = dateForms.map((form) => form.exec(text)).find((match) => match !== null) ?? [];
  const date = new Date(`${text.replace(/ (?:GMT|UTC|[+-]0000)$/i, "")} GMT`);
  const utc = date.toUTCString().toLowerCase();
  const isSame = utc.startsWith(text.slice(0, 3).toLowerCase()) && date.getUTCDate() === Number(day);
  return isSame && utc.includes(time) ? date.getTime() : Number.NaN;
};

const firstWaitMs = 500;
const maxSingleWaitMs = 30_000;
const minWaitMs = 50;

export type RetryBudget = ReturnType<typeof openRetryBudget>;

type NextAttempt = Pick<Retry, "attempt"> & { readonly onWait: (retry: Retry) => void };

type WaitOptions = Pick<ClientOptions, "host" | "maxWaitMs" | "retries">;

/** Without `--max-wait`, a read ends soon. */
const defaultRead = { attempts: 4, ms: 15_000 };

export const openReadBudget = (options: WaitOptions & Pick<ClientOptions, "isMaxWaitSet">, silenceMs: number) => {
  const { host, isMaxWaitSet = true } = options;
  const maxWaitMs = isMaxWaitSet ? options.maxWaitMs : defaultRead.ms;
  const maxAttempts = isMaxWaitSet ? Number.POSITIVE_INFINITY : defaultRead.attempts;
  const endMs = host.elapsed() + maxWaitMs;
  const { wait } = openRetryBudget({ ...options, maxWaitMs });
  return {
    /** A slow answer is not a failure, so `--max-wait` limits only the time to connect. */
    limits: () => ({ connectMs: endMs - host.elapsed(), totalMs: replyTimeoutFactor * silenceMs }),
    wait: async (minMs: number | undefined, next: NextAttempt) =>
      next.attempt <= maxAttempts && host.elapsed() <= endMs && (await wait(minMs, next)),
  };
};

/** Requests can wait at the same time, which counts once. */
export const openRetryBudget = ({ host, maxWaitMs, retries = true }: WaitOptions) => {
  let restMs = retries ? maxWaitMs : 0;
  let lastEndMs = 0;
  return {
    /** Returns false if the budget is too small. @param next the attempt after the wait */
    async wait(minMs: number | undefined, { attempt, onWait }: NextAttempt) {
      const now = host.elapsed();
      const sharedMs = Math.max(0, lastEndMs - now);
      const maxMs = restMs + sharedMs;
      const limitMs = Math.min(maxSingleWaitMs, firstWaitMs * 2 ** (attempt - 2));
      const ms = Math.max(minMs ?? 0, Math.min(Math.max(minWaitMs, host.random() * limitMs), maxMs));
      if (maxMs <= 0 || ms > maxMs) return false;
      restMs -= Math.max(0, ms - sharedMs);
      lastEndMs = Math.max(lastEndMs, now + ms);
      onWait({ attempt, waitMs: ms, leftMs: maxMs - ms });
      await host.sleep(ms, host.signal);
      return true;
    },
  };
};
