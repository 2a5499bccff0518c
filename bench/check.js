/**
 * Measures `check`, `stats` and `log --dry-run` on six kinds of input, and `compare` on one, next to programs that only
 * parse each line: `node bench/check.js [rounds] [scale] [bin/rollcall.js of another build]`. The times are user and
 * system time. With another build, the last columns are the times of this build divided by those of the other.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { kinds, writeKind } from "./input.js";
import {
  environment,
  isInstalled,
  measure,
  newFolder,
  printMachine,
  processorMs,
  report,
  takeTurns,
} from "./rounds.js";

const rounds = Number(process.argv[2] ?? 5);
const scale = Number(process.argv[3] ?? 1);
const base = process.argv[4];
const folder = newFolder();
const env = environment(folder);
const commands = { check: ["check"], stats: ["stats"], log: ["log", "m", "--dry-run", "--split", "train"] };

/** Adds up the rewards, as a trainer would read them, and writes its own time. */
const orjson = `import orjson, os, resource, sys
total = 0.0
for line in open(sys.argv[1], "rb"):
    for one in orjson.loads(line)["trajectories"]: total += one["reward"]
used = resource.getrusage(resource.RUSAGE_SELF)
os.write(3, str(round((used.ru_utime + used.ru_stime) * 1e6)).encode())`;

const hasOrjson = await isInstalled("python3", "-c", "import orjson");
if (!hasOrjson) console.log("skipped: orjson (python3-orjson) is not installed");

const listPrograms = (file, kind) => {
  const node = (program, words) => () => processorMs([program, ...words, file], { env, cores: "all" });
  const programs = { "JSON.parse": node("bench/rivals.js", ["parse"]) };
  if (hasOrjson) programs.orjson = async () => (await measure(["python3", "-c", orjson, file], { env })) / 1000;
  for (const [name, words] of Object.entries(commands)) {
    programs[name] = node("bin/rollcall.js", words);
    if (base !== undefined) programs[`${name} before`] = node(base, words);
  }
  if (kind === "small") programs.compare = node("bin/rollcall.js", ["compare", file]);
  return programs;
};

printMachine(rounds);
for (const kind of Object.keys(kinds)) {
  const file = join(folder, `${kind}.jsonl`);
  const megabytes = writeKind(file, kind, scale) / 1e6;
  const programs = listPrograms(file, kind);
  const { ms, ratio } = await takeTurns(programs, rounds);
  const others = Object.keys(programs).filter((name) => name !== "check" && !name.endsWith(" before"));
  const columns = others.map((name) => `${name} ${ratio(name, "check").toFixed(2)} ×`);
  const changes = base === undefined ? [] : Object.keys(commands);
  columns.push(...changes.map((name) => `${name} over before ${ratio(name, `${name} before`).toFixed(2)}`));
  console.log(
    `${kind.padEnd(6)} ${megabytes.toFixed(0)} MB: check ${ms("check").toFixed(0)} ms, ${columns.join(", ")}`,
  );
  report(`${kind}: stats over check`, ratio("stats", "check"), { max: 1.7 });
  if (kind === "small") report(`${kind}: compare of two over check`, ratio("compare", "check"), { max: 2.8 });
  rmSync(file);
}
