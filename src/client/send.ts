/** Calls an endpoint until there is a checked reply or a reason to stop. */
import type { Checked, Endpoint, Given, Schema } from "../contract/endpoint.ts";
import { readDocument } from "../contract/entries.ts";
import type { Failure } from "../failure.ts";
import type { Held, Reply } from "./client.ts";
import {
  type Asked,
  failureOfStatus,
  failureOfTrouble,
  isPassing,
  largestReplyBytes,
  tooLong,
  unreadable,
} from "./failures.ts";
import { type Tried, tryOnce } from "./once.ts";
import { openPatience, retryAfterMs } from "./patience.ts";
import { targetOf } from "./request.ts";
import type { Room } from "./room.ts";
import { routeTo } from "./route.ts";
import { isPermanent, Trouble } from "./trouble.ts";
import { conditionsOf, isUnchanged, validatorsIn } from "./validators.ts";

/** Longest silence of a read (promises.md, "Global options"). */
const readSilenceMs = 30_000;

/** Calls an endpoint and checks its reply; repeats it where that is safe. @throws Failure */
export const send = async <P extends Schema, B extends Schema, R extends Schema>(
  room: Room,
  endpoint: Endpoint<P, B, R>,
  request: { readonly parameters: Given<P>; readonly body: Given<B>; readonly held?: Held },
): Promise<Reply<Checked<R>>> => {
  const { options, pool, pauses, credentials } = room;
  const { host } = options;
  const target = targetOf(options, endpoint, request.parameters);
  const route = routeTo(target.address, host.env);
  const silenceMs = options.timeoutMs ?? readSilenceMs;
  const body = bodyOf(endpoint.body.parse(request.body));
  let { held } = request;
  const trial = { target, route, silenceMs, body, limitBytes: largestReplyBytes };
  const patience = openPatience({ host, maxWaitMs: options.maxWaitMs });
  let firstEndMs: number | undefined;
  let credential = await credentials.of(target);
  let refreshed = false;
  for (let tries = 1; ; tries++) {
    await pauses.over(target.address.origin);
    const tried = await tryOnce(options, pool, { ...trial, credential, headers: conditionsOf(held) });
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
    announce(room, { origin: target.address.origin, why: end.why, tries });
    // Where one is asked to wait, the others would only be told the same.
    if (end.askedMs !== undefined && end.askedMs <= options.maxWaitMs) pauses.ask(target.address.origin, end.askedMs);
    if (!(await patience.wait(end.askedMs))) throw end.failure;
  }
};

/** After this many tries somebody who looks at the screen wants to know; before, it is over too soon to be read. */
const triesBeforeNotice = 3;

const announce = (
  { options: { trace, notice, maxWaitMs }, announced }: Room,
  { origin, why, tries }: { readonly origin: string; readonly why: string; readonly tries: number },
): void => {
  trace?.(`* ${why}: trying again, ${tries} so far`);
  // Of requests side by side that meet the same, one says so.
  if (tries !== triesBeforeNotice || announced.has(`${origin} ${why}`)) return;
  announced.add(`${origin} ${why}`);
  notice?.(`${origin} can't be used for now (${why}): trying for up to ${Math.round(maxWaitMs / 1000)} s (--max-wait)`);
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
  const { status, trouble } = tried;
  if (status === undefined || trouble !== undefined || tried.fault === "cut") {
    // A status that came before the end says more than how it ended.
    if (status !== undefined && (status < 200 || status > 299)) return judgeStatus(asked, tried, status);
    const what = trouble ?? new Trouble("CUT");
    const failure = failureOfTrouble(asked, what, status);
    return { failure, again: !isPermanent(what), why: what.code, askedMs: undefined };
  }
  if (status < 200 || status > 299) return judgeStatus(asked, tried, status);
  return undefined;
};

const judgeStatus = (asked: Asked, tried: Tried, status: number): End => {
  const askedMs = retryAfterMs(tried.headers, asked.options.host.now());
  const failure = failureOfStatus(asked, status, tried, askedMs);
  return { failure, again: isPassing(status), why: String(status), askedMs };
};

/** Reads a whole success. @throws Failure where it is not what the interface says */
const read = <R extends Schema>(
  asked: Asked,
  { reply, list }: { readonly reply: R; readonly list?: string },
  tried: Tried,
): Reply<Checked<R>> => {
  const status = tried.status ?? 0;
  if (tried.fault === "too-long") throw tooLong(asked, status);
  if (tried.fault === "unknown-encoding") throw unreadable(asked, { status, bytes: tried.bytes, encoding: true });
  const bytes = withoutMark(tried.bytes);
  const parsed = list === undefined ? parse(bytes) : readDocument(bytes, list);
  if (parsed === undefined) throw unreadable(asked, { status, bytes });
  const checked = reply.safeParse(parsed.value);
  if (checked.success) return { status, value: checked.data, bytes, validators: validatorsIn(tried.headers) };
  throw unreadable(asked, { status, bytes, at: checked.error.issues[0]?.path.map(String).join(".") ?? "" });
};

const parse = (bytes: Uint8Array): { readonly value: unknown } | undefined => {
  try {
    return { value: JSON.parse(textOf(bytes)) };
  } catch {
    return undefined;
  }
};

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();

/** Without a byte order mark, which JSON does not allow and some services write. */
const withoutMark = (bytes: Uint8Array): Uint8Array =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
