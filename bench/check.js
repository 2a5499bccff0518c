/**
 * Compares `rollcall check` with `jq` and with a script that only parses each line:
 * `node bench/check.js [rounds] [megabytes]`. `jq` reads and writes text and computes nothing.
 */
import { join } from "node:path";
import { writeGroups } from "./input.js";
import { environment, isInstalled, newFolder, printMachine, report, run, takeTurns } from "./rounds.js";

const rounds = Number(process.argv[2] ?? 9);
const megabytes = Number(process.argv[3] ?? 170);
const folder = newFolder();
const input = join(folder, "groups.jsonl");
const bytes = writeGroups(input, { bytes: megabytes * 1e6 });
const long = join(folder, "long.jsonl");
writeGroups(long, { bytes: megabytes * 1e6, lineBytes: 10e6 });
const found = {
  "a warning on each line": { finding: "warning" },
  "an error on each line": { finding: "error", code: 3 },
  "role in metadata": { finding: "role" },
  "non-ASCII key in metadata": { finding: "non-ASCII key" },
  "other keys in all metadata": { finding: "other keys" },
  "3 warnings, 106 kB lines": { finding: "three warnings", lineBytes: 106e3 },
};
for (const [name, { finding, lineBytes }] of Object.entries(found)) {
  writeGroups(join(folder, `${name}.jsonl`), { bytes: megabytes * 1e6, finding, lineBytes });
}
const env = environment(folder);

const check = (file, { code = 0 } = {}) =>
  run([process.execPath, "bin/rollcall.js", "check", file, "--split", "train"], { env, code });
const parse = (file) => run([process.execPath, "bench/rivals.js", "parse", file], { env });
const programs = {
  "rollcall check": () => check(input),
  "rollcall stats": () => run([process.execPath, "bin/rollcall.js", "stats", input], { env }),
  "rollcall compare": () => run([process.execPath, "bin/rollcall.js", "compare", input, input], { env }),
  "only JSON.parse": () => parse(input),
  "rollcall check, 10 MB lines": () => check(long),
  "only JSON.parse, 10 MB lines": () => parse(long),
};
for (const [name, { code }] of Object.entries(found)) {
  programs[name] = () => check(join(folder, `${name}.jsonl`), { code });
}
if (await isInstalled("jq")) {
  programs["jq -c ."] = () => run(["jq", "-c", ".", input], { env });
  programs["jq empty"] = () => run(["jq", "empty", input], { env });
} else console.log("skipped: jq is not installed");

const { ms, ratio } = await takeTurns(programs, rounds);

printMachine(rounds);
console.log(
  `${(bytes / 1e6).toFixed(0)} MB in groups of four trajectories, about 4 kB a line; the same in lines of 10 MB, and with findings`,
);
for (const name of Object.keys(programs)) {
  const rate = bytes / 1e3 / ms(name);
  console.log(`${name.padEnd(28)} ${ms(name).toFixed(0).padStart(6)} ms ${rate.toFixed(0).padStart(6)} MB/s`);
}
const claims = [
  ["jq -c .", 8],
  ["jq empty", 3],
  ["only JSON.parse", 2.3],
];
for (const [name, min] of claims) {
  if (name in programs) report(`${name} over rollcall check`, ratio(name, "rollcall check"), { min });
}
// stats walks over all messages, and aggregates; compare finds the digests of all prompts of two inputs.
report("stats over check", ratio("rollcall stats", "rollcall check"), { max: 1.7 });
report("compare of two inputs over check", ratio("rollcall compare", "rollcall check"), { max: 3.4 });
for (const name of Object.keys(found)) {
  report(`${name} over ordinary lines`, ratio(name, "rollcall check"), { max: 1.3 });
}
