/** A pause that a service asked one request for, and that every request to it keeps. */
import type { Host } from "../host.ts";

/** The pauses of one client, by origin. */
export interface Pauses {
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
