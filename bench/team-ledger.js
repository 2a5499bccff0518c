/**
 * Measures how fast a shared ledger finds the unlogged groups of a file: `node bench/team-ledger.js [groups]` (default:
 * a million, in files of 100,000).
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { groupOf } from "./input.js";
import { environment, median, newFolder, openSink, printMachine, report, run } from "./rounds.js";
import { openTeamDatabase } from "./team-database.js";

const groups = Number(process.argv[2] ?? 1_000_000);
const perFile = 100_000;
const rounds = 5;

const database = await openTeamDatabase();
const folder = newFolder();
const sink = await openSink();
const env = environment(folder, {
  ROLLCALL_BASE_URL: sink.address,
  ROLLCALL_LEDGER: database.address,
});
const files = Array.from({ length: Math.ceil(groups / perFile) }, (_, at) => {
  const file = join(folder, `${at}.jsonl`);
  writeFileSync(file, Array.from({ length: perFile }, (_, group) => groupOf(at * perFile + group)).join(""));
  return file;
});
const rollcall = async (...words) =>
  await run([process.execPath, "bin/rollcall.js", ...words, "--split", "train"], { env });
const log = async (file) =>
  await rollcall("log", "m", file, "--new-ledger", "--allow", "split-requests", "--max-request-size", "1MiB");

printMachine(rounds);
let took = 0;
for (const file of files) took += await log(file);
console.log(`a ledger in PostgreSQL: ${files.length * perFile} groups logged in ${(took / 1000).toFixed(0)} s`);
const [file] = files;
for (const [what, ask] of [
  ["ledger verify", async () => await rollcall("ledger", "verify", file)],
  ["log, with nothing left to send", async () => await log(file)],
]) {
  const times = [];
  for (let round = 0; round < rounds; round++) times.push((await ask()) / 1000);
  report(`seconds for a file of ${perFile} groups, ${what}`, median(times), { max: 3 });
}
database.stop();
process.exit();
