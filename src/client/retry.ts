/** Calls an endpoint until there is a checked reply or a reason to stop: what is worth a retry, and how long it waits. */
import type { Checked, Endpoint, Schema } from "../contract/endpoint.ts";
import { readDocument, readOutline } from "../contract/entries.ts";
import type { Failure } from "../failure.ts";
import type { Host } from "../host.ts";
import { markLength, parsedJson } from "../json/walk.ts";
import { type Tried, tryOnce } from "./attempt.ts";
import type { ClientOptions, Held, Patience, Reply, Request, Validators } from "./client.ts";
import type { Connections } from "./connections.ts";
import {
  type Asked,
  failureOfStatus,
  failureOfTransport,
  isPassing,
  maxReplyBytes,
  tooLong,
  unreadable,
} from "./failures.ts";
import { type Credentials, isHeaderValue, targetOf } from "./request.ts";
import { routeTo } from "./route.ts";
import { isHostMissing, isPermanent, TransportError } from "./transport-error.ts";

/** What one open client keeps between its requests. */
export interface Session {
  readonly options: ClientOptions;
  /** Loads undici. */
  readonly connections: () => Promise<Connections>;
  readonly pauses: Pauses;
  readonly credentials: Credentials;
  /** Reasons for waiting that a person was told of. */
  readonly announced: Set<string>;
}

/** Longest silence of a read (promises.md, "Global options"). */
export const readSilenceMs = 30_000;

/** Calls an endpoint and checks its reply; repeats it where that is safe. @throws Failure */
export const send = async <P extends Schema, B extends Schema, R extends Schema>(
  session: Session,
  endpoint: Endpoint<P, B, R>,
  request: Request<P, B>,
): Promise<Reply<Checked<R>>> => {
  const { options, pauses, credentials } = session;
  const { host } = options;
  const target = targetOf(options, endpoint, request.parameters);
  const route = routeTo(target.address, host.env);
  const silenceMs = options.timeoutMs ?? readSilenceMs;
  const body = bodyOf(endpoint.body.parse(request.body));
  let { held } = request;
  const trial = { target, route, silenceMs, body, signal: host.signal, maxBytes: maxReplyBytes };
  const patience = openPatience({ host, maxWaitMs: options.maxWaitMs });
  // Where hardly any waiting is allowed, silence is still told from an answer that does not end.
  const endsMs = host.elapsed() + Math.max(options.maxWaitMs, 2 * silenceMs);
  let firstEndMs: number | undefined;
  let credential = await credentials.of(target);
  let refreshed = false;
  for (let tries = 1; ; tries++) {
    await pauses.over(target.address.origin);
    const wholeMs = Math.max(1, endsMs - host.elapsed());
    const tried = await tryOnce(session, { ...trial, wholeMs, credential, headers: conditionsOf(held) });
    host.signal.throwIfAborted();
    if (tried.status === 401 && credential !== undefined && !refreshed) {
      refreshed = true;
      const another = await credentials.another(target, credential);
      credential = another ?? credential;
      if (another !== undefined) continue;
    }
    const asked = { options, target, route, credential, silenceMs, tries };
    if (isUnchanged(tried, held)) {
      const bytes = held.read();
      if (bytes !== undefined) return read(asked, endpoint, { ...tried, bytes });
      held = undefined;
      continue;
    }
    const end = judge(asked, tried);
    if (end === undefined) return read(asked, endpoint, tried);
    if (!end.again || !endpoint.repeatable) throw end.failure;
    firstEndMs ??= host.elapsed();
    if (host.elapsed() - firstEndMs > options.maxWaitMs) throw end.failure;
    announce(session, { ...end, origin: target.address.origin, tries });
    // Where one is asked to wait, the others would only be told the same.
    if (end.askedMs !== undefined && end.askedMs <= options.maxWaitMs) pauses.ask(target.address.origin, end.askedMs);
    if (!(await patience.wait(end.askedMs))) throw end.failure;
  }
};

/** After this many tries somebody who looks at the screen wants to know; before, it is over too soon to be read. */
export const triesBeforeNotice = 3;

const announce = (
  { options: { trace, onAgain, maxWaitMs }, announced }: Session,
  { origin, why, failure, tries }: Pick<End, "why" | "failure"> & { readonly origin: string; readonly tries: number },
): void => {
  trace?.(`* ${why}: trying again, ${tries} so far`);
  // Of requests side by side that meet the same, one says so.
  if (tries !== triesBeforeNotice || announced.has(`${origin} ${why}`)) return;
  announced.add(`${origin} ${why}`);
  onAgain?.(failure, maxWaitMs);
};

const bodyOf = (body: unknown): Uint8Array | undefined =>
  body === undefined ? undefined : Buffer.from(JSON.stringify(body));

/** Why a try is no reply, and whether another may be. */
interface End {
  readonly failure: Failure;
  readonly again: boolean;
  /** What it was, in a word: a status or a code. */
  readonly why: string;
  readonly askedMs: number | undefined;
}

/** Undefined where a whole success came. */
const judge = (asked: Asked, tried: Tried): End | undefined => {
  const { status, error, fault } = tried;
  // A status that came before the end says more than how it ended.
  if (status !== undefined && (status < 200 || status > 299)) {
    const failure = failureOfStatus(asked, status, tried);
    return { failure, again: isPassing(status), why: String(status), askedMs: tried.retryAfterMs };
  }
  if (status !== undefined && error === undefined && fault !== "cut") return undefined;
  const what = error ?? new TransportError("CUT");
  const isThere = asked.options.waitsForHost || !isHostMissing(what);
  const failure = failureOfTransport(asked, what, status);
  return { failure, again: isThere && !isPermanent(what), why: what.code, askedMs: undefined };
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

const conditionsOf = (held: Held | undefined): Readonly<Record<string, string>> => ({
  ...(held?.validators.etag === undefined ? {} : { "If-None-Match": held.validators.etag }),
  ...(held?.validators.lastModified === undefined ? {} : { "If-Modified-Since": held.validators.lastModified }),
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
    async wait(askedMs, onWait) {
      const own = Math.max(shortestWaitMs, host.random() * Math.min(longestWaitMs, firstWaitMs * 2 ** tries));
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

/** The pauses of one client, by origin. */
interface Pauses {
  /** From now on nothing is sent there for so long. */
  ask(origin: string, ms: number): void;
  /** Resolves when something may be sent there. */
  over(origin: string): Promise<void>;
}

/** Opens with no pause anywhere. */
export const openPauses = (host: Host): Pauses => {
  const ends = new Map<string, number>();
  return {
    ask(origin, ms) {
      ends.set(origin, Math.max(ends.get(origin) ?? 0, host.elapsed() + ms));
    },
    async over(origin) {
      for (;;) {
        const ms = (ends.get(origin) ?? 0) - host.elapsed();
        if (ms <= 0) return;
        await host.sleep(ms, host.signal);
      }
    },
  };
};
