/** Runs in a thread of its own: told of a source, it reads ranges of it, and hands over what it finds. */
import { parentPort } from "node:worker_threads";
import { buffersOf } from "../groups/parts/parts.ts";
import { descriptorBytes } from "../input/index.ts";
import { scanRanges } from "./ranges.ts";
import { type HelperTask, haveSmallNursery } from "./sharing.ts";

const help = async ({ descriptor, name, options, ...ranges }: HelperTask): Promise<void> => {
  haveSmallNursery();
  const bytes = descriptorBytes({ descriptor, name, size: ranges.cuts.at(-1) ?? 0 });
  const { signal } = new AbortController();
  const source = { name, bytes, touched: async () => false };
  for await (const result of scanRanges(source, { ...options, ...ranges, signal })) {
    const buffers = result.range === undefined ? [] : buffersOf(result.range.found.parts);
    parentPort?.postMessage(
      result,
      buffers.filter((buffer) => buffer instanceof ArrayBuffer),
    );
  }
};

parentPort?.once("message", help);
