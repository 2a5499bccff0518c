/** The program of a helper thread: reads ranges of a source and posts the results. */
import { parentPort } from "node:worker_threads";
import { listBuffers } from "../groups/parts/parts.ts";
import { descriptorBytes } from "../input/index.ts";
import { type HelperTask, scanRanges } from "./threads.ts";

const runTask = async (task: HelperTask): Promise<void> => {
  const source = { name: task.name, bytes: descriptorBytes(task), touched: async () => false };
  for await (const result of scanRanges(source, task)) {
    const buffers = result.found === undefined ? [] : listBuffers(result.found.parts);
    parentPort?.postMessage(
      result,
      buffers.filter((buffer) => buffer instanceof ArrayBuffer),
    );
  }
};

parentPort?.once("message", runTask);
