/** Loaded before a program: tells the bench, on descriptor 3, how many kilobytes of memory the program had at most. */
process.on("exit", () => require("node:fs").writeSync(3, String(process.resourceUsage().maxRSS)));
