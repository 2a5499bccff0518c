/**
 * Compares `rollcall log` with a plain script without ledger and metrics, and with `curl`, which sends the raw file:
 * `node bench/log.js [rounds] [megabytes] [ascii]`. On one core: `taskset -c 0 node bench/log.js`.
 */
import { rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { writeGroups } from "./input.js";
import { environment, isInstalled, newFolder, openService, printMachine, report, run, takeTurns } from "./rounds.js";

const rounds = Number(process.argv[2] ?? 9);
const megabytes = Number(process.argv[3] ?? 170);
const ascii = process.argv[4] === "ascii";
const folder = newFolder();
const input = join(folder, "groups.jsonl");
const long = join(folder, "long.jsonl");
const warned = join(folder, "warned.jsonl");
const bytes = writeGroups(input, { bytes: megabytes * 1e6, ascii });
writeGroups(warned, { bytes: megabytes * 1e6, ascii, finding: "warning" });
writeGroups(long, { bytes: megabytes * 1e6, lineBytes: 10e6, ascii });

const sink = await openService("sink");
const { address } = sink;
const url = `${address}/v1/preview/models/m/log`;

const env = environment(folder, { ROLLCALL_BASE_URL: address });

const node = process.execPath;
const ledger = join(folder, "ledger.db");
const log = (file) => {
  // A new ledger for every round, because logged groups are not sent again.
  for (const end of ["", "-journal"]) rmSync(`${ledger}${end}`, { force: true });
  return run([node, "bin/rollcall.js", "log", "m", file, "--split", "train", "--ledger", ledger], { env });
};
const curl = (file) =>
  run(["curl", "-sS", "-o", "/dev/null", "-H", "Content-Type: application/json", "-T", file, "-X", "POST", url], {
    env,
  });

const programs = {
  "rollcall log": () => log(input),
  "plain script": () => run([node, "bench/rivals.js", "log", input, url], { env }),
  "rollcall log, warnings": () => log(warned),
  "plain script, warnings": () => run([node, "bench/rivals.js", "log", warned, url], { env }),
  "rollcall check": () => run([node, "bin/rollcall.js", "check", input, "--split", "train"], { env }),
  "rollcall log, 10 MB lines": () => log(long),
  "plain script, 10 MB lines": () => run([node, "bench/rivals.js", "log", long, url], { env }),
};
if (await isInstalled("curl")) programs.curl = () => curl(input);
else console.log("skipped: curl is not installed");

const { ms, ratio } = await takeTurns(programs, rounds);
sink.close();

printMachine(rounds);
console.log(
  `${(bytes / 1e6).toFixed(0)} MB in groups of four trajectories, about 4 kB a line, the same in lines of 10 MB, and with a warning on each line${ascii ? "; nothing but ASCII" : ""}`,
);
for (const name of Object.keys(programs)) {
  const rate = bytes / 1e3 / ms(name);
  console.log(`${name.padEnd(26)} ${ms(name).toFixed(0).padStart(6)} ms ${rate.toFixed(0).padStart(6)} MB/s`);
}
if ("curl" in programs) {
  const [log, check] = [ms("rollcall log"), ms("rollcall check")];
  console.log(
    `rollcall log takes ${ratio("rollcall log", "curl").toFixed(1)} times curl, the physical limit: ` +
      `${check.toFixed(0)} of its ${log.toFixed(0)} ms start, parse, check, digest and tally, ` +
      `${(log - check).toFixed(0)} keep the ledger and send`,
  );
  report("rollcall log over curl", ratio("rollcall log", "curl"), { max: 4 });
}
const min = availableParallelism() > 1 && !ascii ? 5 : 3;
report("plain script over rollcall log", ratio("plain script", "rollcall log"), { min });
report("the same with a warning on each line", ratio("plain script, warnings", "rollcall log, warnings"), {
  min: min - 1,
});
