/** The body of a request: ranges of the input, spliced as they stand, streamed in chunks and held against their checksums. */
import type { StreamedBody } from "../../client/index.ts";
import type { Reading } from "../read/read.ts";
import { LaidOut } from "./layout.ts";
import type { Frame, PlannedRequest } from "./plan.ts";
import { Splice, type SpliceMemory } from "./splice.ts";

/** Bytes handed over at once: few writes, and all of them still in the processor's cache. */
const chunkBytes = 2 ** 19;

/** The memory that bodies go through, which is used again: a new one for every request would cost more than filling it. */
export class BodyMemory {
  readonly #free: SpliceMemory[] = [];

  take(): SpliceMemory {
    return this.#free.pop() ?? { chunk: Buffer.allocUnsafeSlow(chunkBytes), laidOut: new LaidOut() };
  }

  /** Gives memory back that nobody uses any more. */
  give(memory: SpliceMemory): void {
    this.#free.push(memory);
  }
}

/** What a body is made of, and the memory that it goes through. */
interface BodyOptions {
  readonly frame: Frame;
  readonly request: PlannedRequest;
  readonly memory: BodyMemory;
  /** Told of bytes that were handed over. */
  readonly onBytes: (bytes: number) => void;
}

/** The body of a planned request; it can be streamed as often as it is tried. */
export const bodyOf = (reading: Reading, options: BodyOptions): StreamedBody => ({
  length: options.request.bytes,
  chunks: () => chunksOf(reading, options),
});

/** @throws Failure `input-changed` before the last byte, where what is read is not what was checked */
async function* chunksOf(
  reading: Reading,
  { frame, request, memory, onBytes }: BodyOptions,
): AsyncGenerator<Uint8Array, void> {
  const own = memory.take();
  const splice = new Splice(reading, { frame, request, memory: own });
  for (;;) {
    if (splice.fill()) {
      const bytes = splice.take();
      if (bytes.length === 0) break;
      yield bytes;
      onBytes(bytes.length);
    }
    if (splice.isDue) {
      await turn();
      splice.goOn();
    }
  }
  // Only here: whoever broke off may still be sending the last chunk that was asked for.
  memory.give(own);
}

/** Lets everything else have its turn. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
