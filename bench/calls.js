/** Measures the memory for calls of 1 MB: `node bench/calls.js [calls]`. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { environment, newFolder, openService, peakMb, printMachine, report } from "./rounds.js";

const count = Number(process.argv[2] ?? 200);
const folder = newFolder();
const ids = join(folder, "ids.txt");
writeFileSync(ids, Array.from({ length: count }, (_, at) => `id-${at}\n`).join(""));

printMachine(1);
const { address, close } = await openService("calls", 0, 1_000_000);
const env = environment(folder, { ROLLCALL_BASE_URL: address, ROLLCALL_PROJECT: "a/b" });
report("peak in MB", await peakMb(["bin/rollcall.js", "call", "read", "-"], { env, input: ids }), { max: 200 });
close();
