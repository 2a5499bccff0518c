/** A reply's body: gathered in one place, up to a bound, and without its compression. */
import type { Duplex } from "node:stream";
import { setFlagsFromString } from "node:v8";

/** Bytes that are being gathered. */
export interface Gathered {
  /** Takes a piece, as far as there is room for it. */
  add(piece: Uint8Array): void;
  readonly tooLong: boolean;
  read(): Uint8Array;
}

/** Room at first, where nobody said how much will come. */
const firstRoom = 1 << 16;

/**
 * From here on room for all that may come is taken at once: the system gives memory only where something was written, and
 * growing further would hold what came twice.
 */
const mostDoubled = 1 << 22;

/** Gathers at most `limit` bytes; `expected` are those that a sender announced. */
export const openGathered = (limit: number, expected?: number): Gathered => {
  let room = Buffer.allocUnsafeSlow(Math.min(limit, expected ?? 0));
  let size = 0;
  let tooLong = false;
  let isLarge = false;
  const grow = (needed: number): void => {
    const doubled = Math.max(needed, room.length * 2, firstRoom);
    const larger = Buffer.allocUnsafeSlow(Math.min(limit, doubled > mostDoubled ? limit : doubled));
    larger.set(room.subarray(0, size));
    room = larger;
  };
  return {
    get tooLong() {
      return tooLong;
    },
    add(piece) {
      const taken = piece.subarray(0, limit - size);
      tooLong ||= taken.length < piece.length;
      if (size + taken.length > room.length) grow(size + taken.length);
      room.set(taken, size);
      size += taken.length;
      if (size < large || isLarge) return;
      isLarge = true;
      haveSmallNursery();
    },
    read: () => room.subarray(0, size),
  };
};

/** A body of this many bytes is read entry by entry, and each entry is soon garbage. */
const large = 1 << 22;

/**
 * V8 lets the nursery of its heap grow to three times 16 MB while what is in it lives on, as the rows of a list do for a
 * moment. Small, it is emptied more often, which takes no longer: in `node bench/read.js`, `catalog router --sort
 * pricing.prompt -o table` of 50,000 entries needs 7 % less memory at its peak, and without it more than the 150 MB there.
 */
const haveSmallNursery = (): void => setFlagsFromString("--semi-space-growth-factor=1");

/** A body as it was before it was compressed, or as much of it as could be had. */
export interface Decoded {
  readonly bytes: Uint8Array;
  /** Why it is not whole: it ended early or is damaged, is over the bound, or is compressed in a way that there is no decoder for. */
  readonly fault: "cut" | "too-long" | "unknown-encoding" | undefined;
}

/** Services compress once; more than this is not meant well. */
const mostLayers = 2;

/** Decodes a body by its `Content-Encoding`; never holds more than `limit` bytes of it. */
export const decode = async (bytes: Uint8Array, encoding: string, limit: number): Promise<Decoded> => {
  if (bytes.length === 0) return { bytes, fault: undefined };
  const { createBrotliDecompress, createGunzip, createInflate } = await import("node:zlib");
  const decoders = new Map([
    ["gzip", createGunzip],
    ["x-gzip", createGunzip],
    ["deflate", createInflate],
    ["br", createBrotliDecompress],
  ]);
  const names = encoding
    .toLowerCase()
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "" && name !== "identity");
  if (names.length > mostLayers) return { bytes, fault: "unknown-encoding" };
  let decoded: Decoded = { bytes, fault: undefined };
  for (const name of names.reverse()) {
    const open = decoders.get(name);
    if (open === undefined) return { bytes, fault: "unknown-encoding" };
    const layer = await decompress(open(), decoded.bytes, limit);
    decoded = { bytes: layer.bytes, fault: decoded.fault ?? layer.fault };
  }
  return decoded;
};

const decompress = (decoder: Duplex, bytes: Uint8Array, limit: number): Promise<Decoded> =>
  new Promise((resolve) => {
    const whole = openGathered(limit);
    const end = (fault: Decoded["fault"]) => {
      decoder.destroy();
      resolve({ bytes: whole.read(), fault });
    };
    decoder
      .on("data", (chunk: Uint8Array) => {
        whole.add(chunk);
        if (whole.tooLong) end("too-long");
      })
      .once("end", () => end(undefined))
      .once("error", () => end("cut"))
      .end(bytes);
  });
