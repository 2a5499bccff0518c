/** Gathers bytes that come in pieces: in one place from the start, so that a large body is not held twice. */
import { setFlagsFromString } from "node:v8";

/** Bytes that are being gathered. */
export interface Gathered {
  /** Takes a piece, as far as there is room for it. */
  add(piece: Uint8Array): void;
  /** Whether more came than there may be. */
  readonly tooLong: boolean;
  /** What came. */
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
 * moment. Small, it is emptied more often, which takes no longer, and the whole run needs 25 MB less.
 */
const haveSmallNursery = (): void => setFlagsFromString("--semi-space-growth-factor=1");
