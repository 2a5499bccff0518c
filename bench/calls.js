/**
 * Compares 200 calls of 20 ms each that are read in parallel and one by one, and measures the memory for calls of 1 MB:
 * `node bench/calls.js [rounds] [calls]`.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { environment, newFolder, openService, peakMb, printMachine, report, run, takeTurns } from "./rounds.js";

const rounds = Number(process.argv[2] ?? 3);
const count = Number(process.argv[3] ?? 200);
const folder = newFolder();
const ids = join(folder, "ids.txt");
writeFileSync(ids, Array.from({ length: count }, (_, at) => `id-${at}\n`).join(""));

const serve = async (delayMs, bytes) => {
  const { address, close } = await openService("calls", delayMs, bytes);
  const env = environment(folder, { ROLLCALL_BASE_URL: address, ROLLCALL_PROJECT: "a/b" });
  return { env, close };
};

const read = (env, args) =>
  run(["sh", "-c", `"$NODE" bin/rollcall.js call read - ${args} < "$IDS"`], {
    env: { ...env, NODE: process.execPath, IDS: ids },
    output: "pipe",
  });

printMachine(rounds);

const slow = await serve(20, 0);
const { ms, ratio } = await takeTurns(
  {
    "side by side": () => read(slow.env, "-o jsonl"),
    "one by one": () => read(slow.env, "-o jsonl --concurrency 1"),
  },
  rounds,
);
slow.close();
console.log(`${count} calls: ${ms("side by side").toFixed(0)} ms, one by one ${ms("one by one").toFixed(0)} ms`);
report("one by one over side by side", ratio("one by one", "side by side"), { min: 5 });

const peakOf = (env, ...args) => peakMb(["bin/rollcall.js", "call", "read", "-", ...args], { env, input: ids });

const large = await serve(0, 1_000_000);
report("peak in MB of a summary of calls of 1 MB each", await peakOf(large.env, "--summary", "--costs"), { max: 200 });
report("peak in MB of the same calls as lines", await peakOf(large.env, "-o", "jsonl"), { max: 200 });
large.close();
