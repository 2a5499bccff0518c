/** Reads a few calls at a time, in the order they were asked for, and again those that still run. */
import type { Host } from "../host.ts";

interface Running<Input, Output> {
  readonly run: (input: Input) => Promise<Output>;
  /** How many run, or wait for their turn, at any time. */
  readonly atOnce: number;
  /** Whether nothing is to be started any more, as soon as this came; what runs by then is given still. */
  readonly endsAll: (output: Output) => boolean;
}

/**
 * What becomes of each input, in the order of the inputs, as soon as its turn comes. An input that is slow to come keeps
 * nothing back that is done.
 */
export async function* inOrder<Input, Output>(
  inputs: AsyncIterable<Input>,
  { run, atOnce, endsAll }: Running<Input, Output>,
): AsyncGenerator<Output, void> {
  const source = inputs[Symbol.asyncIterator]();
  const running: Promise<Output>[] = [];
  let next: Promise<IteratorResult<Input>> | undefined;
  let end: { readonly fault?: unknown } | undefined;
  let isOver = false;
  const start = async (input: Input): Promise<Output> => {
    const output = await run(input);
    isOver ||= endsAll(output);
    return output;
  };
  const ask = (): Promise<IteratorResult<Input>> => {
    next ??= quietly(source.next());
    return next;
  };
  try {
    for (;;) {
      const [first] = running;
      const mayStart = !isOver && end === undefined && running.length < atOnce;
      if (first === undefined && !mayStart) break;
      // What can be started is, before anything is given that is done: the service is not to wait for whoever prints.
      if (first !== undefined && (!mayStart || (await isBefore(first, ask())))) {
        running.shift();
        yield await first.catch((thrown: unknown) => {
          // What was wrong with the input came first.
          throw end === undefined || !("fault" in end) ? thrown : end.fault;
        });
        continue;
      }
      try {
        const result = await ask();
        next = undefined;
        if (result.done === true) end = {};
        else running.push(quietly(start(result.value)));
      } catch (fault) {
        end = { fault };
      }
    }
    if (end !== undefined && "fault" in end) throw end.fault;
  } finally {
    // What still waits for its next input must not keep the run alive.
    if (end === undefined) void quietly(Promise.resolve(source.return?.()));
  }
}

/** One that fails is noticed when its turn comes; another may end the run before. */
export const quietly = <Value>(promise: Promise<Value>): Promise<Value> => {
  promise.catch(() => undefined);
  return promise;
};

/** Whether `one` is settled while `other` is not. A failure of `other` is left for when it is asked. */
const isBefore = async (one: Promise<unknown>, other: Promise<unknown>): Promise<boolean> =>
  await Promise.race([
    other.then(
      () => false,
      () => false,
    ),
    one.then(
      () => true,
      () => true,
    ),
  ]);

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
