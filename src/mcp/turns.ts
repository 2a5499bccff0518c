/** Has a few calls of tools run at a time, and the others wait for their turn. */
import { setImmediate } from "node:timers/promises";

/** Calls that run at the same time: they share one machine, and one service. */
const atOnce = 4;

/** The calls of one client. */
export interface Turns {
  /** Runs work when its turn has come. @throws the signal's reason where it aborts before */
  run<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result>;
  /** Waits until nothing runs or waits, and what came of it was handed on. */
  done(): Promise<void>;
}

/** Opens turns of which none is taken. */
export const openTurns = (): Turns => {
  const waiting: (() => void)[] = [];
  const idle: (() => void)[] = [];
  let running = 0;
  const leave = (): void => {
    running--;
    waiting.shift()?.();
    if (running === 0 && waiting.length === 0) for (const tell of idle.splice(0)) tell();
  };
  return {
    async run(signal, work) {
      if (running >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve));
      running++;
      try {
        signal.throwIfAborted();
        // Work that nobody waits for any more may go on for a while, but it keeps nobody waiting.
        return await Promise.race([work(), abortOf(signal)]);
      } finally {
        leave();
      }
    },
    async done() {
      // A request that came last is handed over in the same round of the event loop, and so is what comes of it.
      await setImmediate();
      if (running > 0) await new Promise<void>((resolve) => idle.push(resolve));
      await setImmediate();
    },
  };
};

const abortOf = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
