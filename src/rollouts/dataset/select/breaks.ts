/** Lets Node report signals during a long loop. */
import { setImmediate } from "node:timers/promises";

/** A step costs as much as reading this many bytes. */
const bytesPerStep = 2 ** 12;
/** Less than 50 ms of work. */
const maxBytes = 2 ** 23;

export class Breaks {
  readonly #signal: AbortSignal;
  #bytes = 0;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Call this function once per step. */
  isDue(bytes = 0) {
    this.#bytes += bytes + bytesPerStep;
    return this.#bytes >= maxBytes;
  }

  /** @throws the signal's reason */
  async take() {
    this.#bytes = 0;
    await setImmediate();
    this.#signal.throwIfAborted();
  }
}
