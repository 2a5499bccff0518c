/**
 * Node loads this file before a program. When the program ends, this file writes the peak memory in kilobytes, or the
 * processor time in microseconds, to descriptor 3.
 */
const { readFileSync, writeSync } = require("node:fs");
const { isMainThread } = require("node:worker_threads");

// The process's `maxRSS` would include the peak of the process that started it.
const peak = () => /VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1];

const figure = () => {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  return process.env.BENCH_TELLS === "processor" ? userCPUTime + systemCPUTime : peak();
};

// Every thread loads this file, but only the main thread writes the number, which is for all threads.
if (isMainThread) process.on("exit", () => writeSync(3, String(figure())));
