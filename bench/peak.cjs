/**
 * Loaded before a program: tells the bench, on descriptor 3, how many kilobytes of memory the program had at most, or how
 * many microseconds processors spent on it.
 */
const { writeSync } = require("node:fs");
const { isMainThread } = require("node:worker_threads");

const figure = () => {
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  return process.env.BENCH_TELLS === "processor" ? userCPUTime + systemCPUTime : maxRSS;
};

// Every thread loads this; the figure is of all of them.
if (isMainThread) process.on("exit", () => writeSync(3, String(figure())));
