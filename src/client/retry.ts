/** Calls an endpoint until there is a checked reply or a reason to stop: what is worth a retry, and how long it waits. */
import type { Checked, Endpoint, Schema } from "../contract/endpoint.ts";
import { readDocument, readOutline } from "../contract/entries.ts";
import type { Failure } from "../failure.ts";
import { markLength, parsedJson } from "../json/walk.ts";
import {
  type Asked,
  failureOfStatus,
  failureOfTransport,
  isPassing,
  maxReplyBytes,
  tooLong,
  unreadable,
} from "./answers.ts";
import { type Tried, tryOnce } from "./attempt.ts";
import type { ClientOptions, Held, Patience, Reply, Request, Validators } from "./client.ts";
import type { Connections } from "./connections.ts";
import { type Credentials, isHeaderValue, targetOf } from "./request.ts";
import { routeTo } from "./route.ts";
import { isHostMissing, isPermanent, TransportError } from "./transport-error.ts";

/** What one open client keeps between its requests. */
export interface Session {
  readonly options: ClientOptions;
  /** Loads undici. */
  readonly connections: () => Promise<Connections>;
  readonly credentials: Credentials;
  /** Until when nothing is sent to an origin, because its service asked to wait. Monotonic milliseconds. */
  readonly pausedUntil: Map<string, number>;
  /** Reasons for waiting that a person was told of. */
  readonly announced: Set<string>;
}

/** Longest silence of a read (promises.md, "Global options"). */
export const readSilenceMs = 30_000;

/** After this many tries somebody who looks at the screen wants to know; before, it is over too soon to be read. */
export const triesBeforeNotice = 3;

/** Calls an endpoint and checks its reply; repeats it if that is safe. @throws Failure */
export const send = async <P extends Schema, B extends Schema, R extends Schema>(
  session: Session,
  endpoint: Endpoint<P, B, R>,
  request: Request<P, B>,
): Promise<Reply<Checked<R>>> => {
  const { options, pausedUntil, announced, credentials } = session;
  const { host, maxWaitMs, trace } = options;
  const target = targetOf(options, endpoint, request.parameters);
  const { origin } = target.address;
  const route = routeTo(target.address, host.env);
  const silenceMs = options.timeoutMs ?? readSilenceMs;
  const given: unknown = endpoint.body.parse(request.body);
  const body = given === undefined ? undefined : Buffer.from(JSON.stringify(given));
  const patience = openPatience(options);
  // If hardly any waiting is allowed, silence is still told from a reply that does not end.
  const endsMs = host.elapsed() + Math.max(maxWaitMs, 2 * silenceMs);
  let firstEndMs: number | undefined;
  let { held } = request;
  let credential = await credentials.of(target);
  let isRefreshed = false;
  for (let tries = 1; ; tries++) {
    for (let ms = 1; ms > 0; ) {
      ms = (pausedUntil.get(origin) ?? 0) - host.elapsed();
      if (ms > 0) await host.sleep(ms, host.signal);
    }
    const wholeMs = Math.max(1, endsMs - host.elapsed());
    const asked: Asked = { options, target, route, credential, silenceMs, tries };
    const headers = conditionsOf(held);
    const limits = { wholeMs, maxBytes: maxReplyBytes, signal: host.signal };
    const tried = await tryOnce(session, asked, { ...limits, body, headers });
    host.signal.throwIfAborted();
    if (tried.status === 401 && credential !== undefined && !isRefreshed) {
      isRefreshed = true;
      const another = await credentials.another(target, credential);
      credential = another ?? credential;
      if (another !== undefined) continue;
    }
    if (isUnchanged(tried, held)) {
      const bytes = held.read();
      if (bytes !== undefined) return read(asked, endpoint, { ...tried, bytes });
      held = undefined;
      continue;
    }
    const failure = failureOf(asked, tried);
    if (failure === undefined) return read(asked, endpoint, tried);
    firstEndMs ??= host.elapsed();
    const isLate = host.elapsed() - firstEndMs > maxWaitMs;
    if (!endpoint.repeatable || !isWorthRetry(asked, tried) || isLate) throw failure;
    const why = String(isRefused(tried) ? tried.status : (tried.error?.code ?? "CUT"));
    trace?.(`* ${why}: trying again, ${tries} so far`);
    // Of requests side by side that meet the same, one says so.
    if (tries === triesBeforeNotice && !announced.has(`${origin} ${why}`)) {
      announced.add(`${origin} ${why}`);
      options.onAgain?.(failure, maxWaitMs);
    }
    const askedMs = isRefused(tried) ? tried.retryAfterMs : undefined;
    // If one is asked to wait, the others would only be told the same.
    if (askedMs !== undefined && askedMs <= maxWaitMs) {
      pausedUntil.set(origin, Math.max(pausedUntil.get(origin) ?? 0, host.elapsed() + askedMs));
    }
    if (!(await patience.wait(askedMs))) throw failure;
  }
};

const isRefused = ({ status }: Tried): boolean => status !== undefined && (status < 200 || status > 299);

/** Undefined for a whole success. A status says more than how the reply ended. */
const failureOf = (asked: Asked, tried: Tried): Failure | undefined => {
  const { status, error, fault } = tried;
  if (status !== undefined && isRefused(tried)) return failureOfStatus(asked, status, tried);
  if (status !== undefined && error === undefined && fault !== "cut") return undefined;
  return failureOfTransport(asked, error ?? new TransportError("CUT"), status);
};

/** True if another try may succeed. */
const isWorthRetry = ({ options }: Asked, tried: Tried): boolean => {
  const { status = 0, error } = tried;
  if (isRefused(tried)) return isPassing(status);
  return error === undefined || (!isPermanent(error) && (options.waitsForHost || !isHostMissing(error)));
};

/** Reads a whole success. @throws Failure where it is not what the interface says */
const read = <R extends Schema>(
  asked: Asked,
  { reply, list, outline }: Pick<Endpoint<Schema, Schema, R>, "reply" | "list" | "outline">,
  tried: Tried,
): Reply<Checked<R>> => {
  const status = tried.status ?? 0;
  if (tried.fault === "too-long") throw tooLong(asked, status);
  if (tried.fault === "unknown-encoding") throw unreadable(asked, { status, bytes: tried.bytes, encoding: true });
  const bytes = tried.bytes.subarray(markLength(tried.bytes));
  const parsed =
    outline === true ? readOutline(bytes) : list === undefined ? parsedJson(textOf(bytes)) : readDocument(bytes, list);
  if (parsed === undefined) throw unreadable(asked, { status, bytes });
  const checked = reply.safeParse(parsed.value);
  if (checked.success) return { status, value: checked.data, bytes, validators: validatorsIn(tried.headers) };
  throw unreadable(asked, { status, bytes, at: checked.error.issues[0]?.path.map(String).join(".") ?? "" });
};

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();

const conditionsOf = ({ validators: { etag, lastModified } = {} }: Partial<Held> = {}) => ({
  ...(etag === undefined ? {} : { "If-None-Match": etag }),
  ...(lastModified === undefined ? {} : { "If-Modified-Since": lastModified }),
});

/** Whether an answer says that what was asked for by its validators still stands. A 304 to anything else is none. */
const isUnchanged = ({ status, error }: Tried, held: Held | undefined): held is Held =>
  status === 304 && error === undefined && held !== undefined && Object.keys(held.validators).length > 0;

const validatorsIn = (headers: Readonly<Record<string, string>>): Validators => {
  const { etag = "", "last-modified": lastModified = "" } = headers;
  return {
    ...(isEntityTag(etag) ? { etag } : {}),
    ...(isHeaderValue(lastModified) ? { lastModified } : {}),
  };
};

const isEntityTag = (text: string): boolean => /^(W\/)?"[^"]*"$/.test(text) && isHeaderValue(text);

/** Each wait is random, up to a limit that doubles from the first to the largest. */
const firstWaitMs = 500;
const maxWaitAloneMs = 30_000;
/** No wait is shorter, so that chance can't make a loop without pause. */
const minWaitMs = 50;

/** Limits the waits of one run. */
export const openPatience = ({ host, maxWaitMs }: Pick<ClientOptions, "host" | "maxWaitMs">): Patience => {
  let left = maxWaitMs;
  let tries = 0;
  return {
    async wait(askedMs, onWait) {
      const own = Math.max(minWaitMs, host.random() * Math.min(maxWaitAloneMs, firstWaitMs * 2 ** tries));
      // What a service asks for is the least: one that asks for nothing, again and again, is not hammered.
      const ms = Math.max(askedMs ?? 0, Math.min(own, left));
      if (left <= 0 || ms > left) return false;
      tries++;
      left -= ms;
      onWait?.();
      await host.sleep(ms, host.signal);
      return true;
    },
  };
};
