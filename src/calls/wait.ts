/** Asks again, ever less often, until something has ended or a bound is reached. */
import type { Host } from "../host.ts";

/** The first wait between two reads of a running call; each further one is half as long again, up to the longest. */
const firstWaitMs = 1000;
const growth = 1.5;
const longestWaitMs = 15_000;

/** So much of a wait is left to chance, so that many calls are not asked for at the same moment. */
const chance = 0.25;

/** Waits for what is still going on; the bound is one for all that wait. */
export interface Waiting {
  /** Reads again and again until `isGoingOn` says no, or the bound is reached: gives what was read last. */
  until<Read>(read: () => Promise<Read>, isGoingOn: (one: Read) => boolean): Promise<Read>;
}

/** Opens a bound that begins now. */
export const openWaiting = (host: Host, boundMs: number): Waiting => {
  const endMs = host.elapsed() + boundMs;
  return {
    async until(read, isGoingOn) {
      let waitMs = firstWaitMs;
      for (;;) {
        const one = await read();
        const leftMs = endMs - host.elapsed();
        if (leftMs <= 0 || !isGoingOn(one)) return one;
        // The last look is at the bound itself.
        await host.sleep(Math.min(leftMs, waitMs * (1 - chance * host.random())), host.signal);
        waitMs = Math.min(longestWaitMs, waitMs * growth);
      }
    },
  };
};
