/** Reads requests' bodies: each up to a limit, and all that are held at once up to another. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Refusal } from "./answer.ts";

/** Memory for the bodies of requests that are being answered. */
export interface Bodies {
  /**
   * Reads a whole body, hands it to `use`, and lets it go when that is done.
   * @throws Refusal 413 as soon as it is known to be over the limit, 415 before it is read, 400 where it was cut off
   */
  with<Result>(exchange: Exchange, use: (bytes: Uint8Array) => Promise<Result>): Promise<Result>;
}

/** A request and the reply to it. */
export interface Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

/** Bodies that are held at once, together: what a laptop can spare. Others wait unread. */
const heldBytes = 256 * 1024 * 1024;

/** Opens the room for bodies of at most `maxBytes` each. */
export const openBodies = (maxBytes: number): Bodies => {
  const room = openRoom(Math.max(heldBytes, maxBytes));
  return {
    with: async (exchange, use) => {
      const length = declaredLength(exchange.incoming, maxBytes);
      const size = length ?? maxBytes;
      await room.take(size, exchange.incoming);
      try {
        if (isAwaitingContinue(exchange.incoming)) exchange.outgoing.writeContinue();
        return await use(await read(exchange.incoming, { maxBytes, length }));
      } finally {
        room.give(size);
      }
    },
  };
};

/** The length that a request says its body has; undefined where it says none. */
const declaredLength = ({ headers }: IncomingMessage, maxBytes: number): number | undefined => {
  if (!/^\s*application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(headers["content-type"] ?? "")) {
    throw new Refusal(415, "Content-Type must be application/json");
  }
  if (headers["content-encoding"] !== undefined && headers["content-encoding"] !== "identity") {
    throw new Refusal(415, "a body with a Content-Encoding is not read");
  }
  const declared = headers["content-length"];
  const length = declared === undefined ? undefined : Number(declared);
  if (length !== undefined && length > maxBytes) throw tooLarge(maxBytes);
  return length;
};

const tooLarge = (maxBytes: number): Refusal => new Refusal(413, `the body is larger than ${maxBytes} bytes`);

const isAwaitingContinue = ({ headers }: IncomingMessage): boolean => /^100-continue$/i.test(headers.expect ?? "");

const read = (
  incoming: IncomingMessage,
  { maxBytes, length }: { readonly maxBytes: number; readonly length: number | undefined },
): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    const whole = length === undefined ? undefined : Buffer.allocUnsafe(length);
    const chunks: Buffer[] = [];
    let at = 0;
    const stop = (end: () => void): void => {
      incoming.off("data", onData).off("end", onEnd).off("error", onCut).off("close", onCut);
      end();
    };
    const onData = (chunk: Buffer): void => {
      const from = at;
      at += chunk.length;
      if (at > maxBytes) stop(() => reject(tooLarge(maxBytes)));
      else if (whole === undefined) chunks.push(chunk);
      else chunk.copy(whole, from);
    };
    const onEnd = (): void => stop(() => resolve(whole ?? Buffer.concat(chunks, at)));
    const onCut = (): void => stop(() => reject(new Refusal(400, "the body was cut off")));
    incoming.on("data", onData).on("end", onEnd).on("error", onCut).on("close", onCut);
    if (incoming.destroyed) onCut();
  });

interface Room {
  /** Resolves when there is room, first come, first served. @throws Refusal where the request broke off meanwhile */
  take(size: number, incoming: IncomingMessage): Promise<void>;
  give(size: number): void;
}

const openRoom = (total: number): Room => {
  let free = total;
  const waiting: { readonly size: number; readonly start: () => void }[] = [];
  const startNext = (): void => {
    for (let next = waiting[0]; next !== undefined && next.size <= free; next = waiting[0]) {
      waiting.shift();
      free -= next.size;
      next.start();
    }
  };
  return {
    take: (size, incoming) =>
      new Promise((resolve, reject) => {
        const onClose = (): void => {
          waiting.splice(waiting.indexOf(entry), 1);
          reject(new Refusal(400, "the request was broken off"));
          startNext();
        };
        const entry = {
          size,
          start: () => {
            incoming.off("close", onClose);
            resolve();
          },
        };
        incoming.on("close", onClose);
        waiting.push(entry);
        startNext();
      }),
    give: (size) => {
      free += size;
      startNext();
    },
  };
};
