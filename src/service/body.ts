/** Reads requests' bodies: each up to a limit, and all that are held at once up to another. */
import type { IncomingMessage, ServerResponse } from "node:http";
import * as zlib from "node:zlib";
import { codeOf } from "../files.ts";
import { nestedIn } from "../json/walk.ts";
import { Refusal } from "./answer.ts";

/** Memory for the bodies of requests that are being answered. */
export interface Bodies {
  /**
   * Reads a whole body, hands it to `use`, and lets it go when that is done.
   * A compressed one is unpacked; both its sizes are held to the limit.
   * @throws Refusal 413 as soon as it is known to be over the limit, or where it holds too many values to walk, 415 before it is read, 400 where it was cut off or is damaged
   */
  with<Result>(exchange: Exchange, use: (bytes: Uint8Array) => Promise<Result>): Promise<Result>;
}

/** A request and the reply to it. */
interface Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

/** Bytes of bodies that are held at once, together: what a laptop can spare. Beyond, all but the oldest wait unread. */
const heldBytes = 256 * 1024 * 1024;

/** How long the oldest may go on coming while others wait for it. */
const patienceMs = 30_000;

/** Opens the room for bodies of at most `maxBytes` each. */
export const openBodies = (maxBytes: number): Bodies => {
  const room = openRoom(heldBytes);
  return {
    with: async ({ incoming, outgoing }, use) => {
      const length = declaredLength(incoming, maxBytes);
      const unpack = unpackerOf(incoming);
      const place = room.enter(incoming);
      try {
        if (isAwaitingContinue(incoming)) outgoing.writeContinue();
        const bytes = await read(incoming, { maxBytes, length, place });
        const unpacked = unpack === undefined ? bytes : await unpackedOf(bytes, unpack, maxBytes);
        if (unpack !== undefined) place.take(unpacked.length);
        requireFew(unpacked, maxBytes);
        return await use(unpacked);
      } finally {
        place.leave();
      }
    },
  };
};

/** The length that a request says its body has; undefined where it says none. */
const declaredLength = ({ headers }: IncomingMessage, maxBytes: number): number | undefined => {
  if (!/^\s*application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(headers["content-type"] ?? "")) {
    throw new Refusal(415, "Content-Type must be application/json");
  }
  const declared = headers["content-length"];
  const length = declared === undefined ? undefined : Number(declared);
  if (length !== undefined && length > maxBytes) throw tooLarge(maxBytes);
  return length;
};

/** Unpacks bytes at once, up to a bound. */
type Unpack = (
  bytes: Uint8Array,
  options: { readonly maxOutputLength: number },
  done: (error: Error | null, unpacked: Uint8Array) => void,
) => void;

/** What unpacks a body; undefined where it is not compressed. @throws Refusal 415 */
const unpackerOf = ({ headers }: IncomingMessage): Unpack | undefined => {
  const encoding = headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  if (encoding === "identity") return undefined;
  if (encoding === "gzip" || encoding === "x-gzip") return zlib.gunzip;
  // Node 22.15, 23.8 and newer have it; the types are those of the oldest Node that is supported.
  const unzstd: unknown = Reflect.get(zlib, "zstdDecompress");
  const isThere = typeof unzstd === "function";
  if (encoding === "zstd" && isThere)
    return (bytes, options, done) => void Reflect.apply(unzstd, zlib, [bytes, options, done]);
  const taken = isThere ? "gzip, zstd" : "gzip";
  throw new Refusal(415, `a body is taken as it is, or in one of these encodings: ${taken}`, {
    headers: { "Accept-Encoding": taken },
  });
};

/** @throws Refusal 413, 400 */
const unpackedOf = (bytes: Uint8Array, unpack: Unpack, maxBytes: number): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    unpack(bytes, { maxOutputLength: maxBytes }, (error, unpacked) => {
      if (error === null) resolve(unpacked);
      else if (codeOf(error) === "ERR_BUFFER_TOO_LARGE") reject(tooLarge(maxBytes));
      else reject(new Refusal(400, "the compressed body is damaged, or was cut off"));
    });
  });

/**
 * Bytes that a body as large as may be has for each of its objects and arrays, and how many of these any body may have: each is
 * memory and time, whatever it holds. What is logged has one in 20 bytes at most, where there are log probabilities.
 */
const bytesOfNested = 12;
const nestedOfAny = 2 ** 18;

/** @throws Refusal 413 */
const requireFew = (bytes: Uint8Array, maxBytes: number): void => {
  const most = Math.max(nestedOfAny, Math.floor(maxBytes / bytesOfNested));
  if (bytes.length <= most || nestedIn(bytes, most) <= most) return;
  throw new Refusal(413, `the body holds more than ${most} objects and arrays`);
};

const tooLarge = (maxBytes: number): Refusal => new Refusal(413, `the body is larger than ${maxBytes} bytes`);

const isAwaitingContinue = ({ headers }: IncomingMessage): boolean => /^100-continue$/i.test(headers.expect ?? "");

const read = (
  incoming: IncomingMessage,
  {
    maxBytes,
    length,
    place,
  }: { readonly maxBytes: number; readonly length: number | undefined; readonly place: Place },
): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    // Of what is only announced, the system gives no memory yet.
    const whole = length === undefined ? undefined : Buffer.allocUnsafe(length);
    const chunks: Buffer[] = [];
    let at = 0;
    const stop = (end: () => void): void => {
      incoming.off("data", onData).off("end", onEnd).off("error", onCut).off("close", onCut);
      place.close();
      end();
    };
    const onData = (chunk: Buffer): void => {
      const from = at;
      at += chunk.length;
      if (at > maxBytes) {
        stop(() => reject(tooLarge(maxBytes)));
        return;
      }
      if (whole === undefined) chunks.push(chunk);
      else chunk.copy(whole, from);
      place.take(chunk.length);
    };
    const onEnd = (): void => stop(() => resolve(whole ?? Buffer.concat(chunks, at)));
    const onCut = (): void => stop(() => reject(new Refusal(400, "the body was cut off")));
    incoming.on("data", onData).on("end", onEnd).on("error", onCut).on("close", onCut);
    place.onSlow(() => stop(() => reject(new Refusal(408, "the body came too slowly, and others wait"))));
    if (incoming.destroyed) onCut();
  });

/** A body's place in the room. */
interface Place {
  /** Counts bytes that came. */
  take(bytes: number): void;
  /** Told where the body keeps others waiting for too long. */
  onSlow(refuse: () => void): void;
  /** All of it came, or nothing more will. */
  close(): void;
  /** Lets its bytes go. */
  leave(): void;
}

interface Reader {
  readonly incoming: IncomingMessage;
  refuse: () => void;
}

/** Counts what has come, not what was announced: an upload that comes slowly takes nobody's room. */
const openRoom = (total: number): { enter(incoming: IncomingMessage): Place } => {
  let held = 0;
  let timer: NodeJS.Timeout | undefined;
  /** Those that are still coming, the oldest first, which goes on whatever is held, so that there is an end. */
  const readers: Reader[] = [];
  const settle = (): void => {
    const isFull = held >= total;
    for (const [index, { incoming }] of readers.entries()) {
      if (isFull && index > 0) incoming.pause();
      else if (incoming.isPaused()) incoming.resume();
    }
    if (!isFull || readers.length < 2) {
      clearTimeout(timer);
      timer = undefined;
    } else timer ??= setTimeout(refuseOldest, patienceMs).unref();
  };
  const refuseOldest = (): void => {
    timer = undefined;
    readers[0]?.refuse();
  };
  return {
    enter: (incoming) => {
      const reader: Reader = { incoming, refuse: () => undefined };
      readers.push(reader);
      let own = 0;
      const close = (): void => {
        const index = readers.indexOf(reader);
        if (index >= 0) readers.splice(index, 1);
        if (index === 0) {
          clearTimeout(timer);
          timer = undefined;
        }
        settle();
      };
      return {
        take: (bytes) => {
          own += bytes;
          held += bytes;
          if (held >= total) settle();
        },
        onSlow: (refuse) => {
          reader.refuse = refuse;
        },
        close,
        leave: () => {
          held -= own;
          own = 0;
          close();
        },
      };
    },
  };
};
