/** Decides which reads are retried, and how long and how often requests are. */
import type { ReplyHeaders } from "./exchange.ts";
import type { ClientOptions, Retry } from "./request-options.ts";

/** Default of `--timeout` for a read (guarantees.md). */
export const readSilenceMs = 30_000;
/** The time limit for a reply, in multiples of `--timeout`. */
export const replyTimeoutFactor = 2;

/** Returns true if a later attempt can succeed (guarantees.md). */
export const isTransientStatus = (status: number) => status === 408 || status === 429 || status >= 500;

export type RetryNotices = (reason: string, retry: Retry) => void;

export const openRetryNotices = (onRetry: ClientOptions["onRetry"]): RetryNotices => {
  const announced = new Set<string>();
  return (reason, retry) => {
    const key = `${retry.attempt} ${reason}`;
    if ((retry.attempt <= 3 && retry.waitMs < 1000) || announced.has(key)) return;
    announced.add(key);
    onRetry?.(reason, retry);
  };
};

/** `Retry-After` contains seconds or a date (RFC 9110, 10.2.3). */
export const parseRetryAfterMs = (headers: ReplyHeaders, now: number) => {
  const [msText = "", text = ""] = [headers["retry-after-ms"], headers["retry-after"]].map((value) => value?.trim());
  const isNumber = /^\d{1,12}(\.\d+)?$/;
  if (isNumber.test(msText)) return Number(msText);
  if (isNumber.test(text)) return Number(text) * 1000;
  const date = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
};

const firstWaitMs = 500;
const maxSingleWaitMs = 30_000;
const minWaitMs = 50;

export type RetryBudget = ReturnType<typeof openRetryBudget>;

type WaitOptions = Pick<ClientOptions, "host" | "maxWaitMs" | "retries">;

export const openReadBudget = (options: WaitOptions, silenceMs: number) => {
  const { host, maxWaitMs } = options;
  const endMs = host.elapsed() + maxWaitMs;
  const { wait } = openRetryBudget(options);
  return {
    limits() {
      const connectMs = endMs - host.elapsed();
      // `--max-wait 0s` still allows one attempt.
      return { connectMs, totalMs: maxWaitMs === 0 ? replyTimeoutFactor * silenceMs : Math.max(1, connectMs) };
    },
    wait: async (...given: Parameters<typeof wait>) => host.elapsed() <= endMs && (await wait(...given)),
  };
};

export const openRetryBudget = ({ host, maxWaitMs, retries = true }: WaitOptions) => {
  let leftMs = retries ? maxWaitMs : 0;
  let waits = 0;
  return {
    async wait(minMs = 0, next?: { attempt: number; onWait: (retry: Retry) => void }) {
      const randomMs = Math.max(minWaitMs, host.random() * Math.min(maxSingleWaitMs, firstWaitMs * 2 ** waits));
      const ms = Math.max(minMs, Math.min(randomMs, leftMs));
      if (leftMs <= 0 || ms > leftMs) return false;
      waits++;
      leftMs -= ms;
      next?.onWait({ attempt: next.attempt, waitMs: ms, leftMs });
      await host.sleep(ms, host.signal);
      return true;
    },
  };
};
