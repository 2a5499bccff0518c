/** Runs in a thread of its own: told of a source, it reads ranges of it for as long as there are any, and hands over what it finds. */
import { parentPort } from "node:worker_threads";
import { buffersOf } from "../groups/parts/parts.ts";
import { descriptorBytes } from "../input/index.ts";
import { newRangeMemory, rangeCount, scanRange } from "./ranges.ts";
import { type HelperResult, type HelperTask, haveSmallNursery, takeNext } from "./sharing.ts";

const help = async ({ descriptor, name, options, cuts, next }: HelperTask): Promise<void> => {
  haveSmallNursery();
  const source = {
    name,
    bytes: descriptorBytes({ descriptor, name, size: cuts.at(-1) ?? 0 }),
    touched: async () => false,
  };
  const { signal } = new AbortController();
  const memory = newRangeMemory();
  for (let position = takeNext(next); position < rangeCount(cuts); position = takeNext(next)) {
    const range = await scanRange(source, { ...options, signal, cuts, position, memory });
    const result: HelperResult = { position, range };
    const buffers = range === undefined ? [] : buffersOf(range.found.parts);
    parentPort?.postMessage(
      result,
      buffers.filter((buffer) => buffer instanceof ArrayBuffer),
    );
  }
};

parentPort?.once("message", help);
