/** Loaded before a program: tells the bench, on descriptor 3, how many kilobytes of memory the program had at most. */
const { writeSync } = require("node:fs");
const { isMainThread } = require("node:worker_threads");

// Every thread loads this; the figure is of all of them.
if (isMainThread) process.on("exit", () => writeSync(3, String(process.resourceUsage().maxRSS)));
