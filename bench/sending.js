/**
 * Compares `rollcall log` over a slow link, and the cost of rejected lines, with careful scripts:
 * `node bench/sending.js [rounds] [megabytes]`.
 */
import { createReadStream, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { writeGroups } from "./input.js";
import { environment, newFolder, openService, printMachine, processorMs, report, run, takeTurns } from "./rounds.js";

const rounds = Number(process.argv[2] ?? 5);
const megabytes = Number(process.argv[3] ?? 40);
const folder = newFolder();
const groups = join(folder, "groups.jsonl");
writeGroups(groups, { bytes: megabytes * 1e6 });
const ledger = join(folder, "ledger.db");

/** Removes the ledger, because logged groups are not sent again. */
const prepareLog = (...words) => {
  for (const end of ["", "-journal"]) rmSync(`${ledger}${end}`, { force: true });
  return ["bin/rollcall.js", "log", "m", "--split", "train", "--ledger", ledger, ...words];
};

const roundTripMs = 100;
const requestBytes = 2 * 2 ** 20;

const overSlowLink = async () => {
  const { address, close } = await openService("far", roundTripMs);
  const env = environment(folder, { ROLLCALL_BASE_URL: address });
  const url = `${address}/v1/preview/models/m/log`;
  const node = (args) => run([process.execPath, ...args], { env });
  const { ms, ratio } = await takeTurns(
    {
      log: () => node(prepareLog(groups, "--max-request-size", "2MiB")),
      script: () => node(["bench/rivals.js", "parts", url, String(requestBytes), groups]),
    },
    rounds,
  );
  close();
  console.log(
    `${megabytes} MB in requests of 2 MiB, one after the other, ${roundTripMs} ms there and back: ` +
      `log ${ms("log").toFixed(0)} ms, a script that keeps its connection ${ms("script").toFixed(0)} ms`,
  );
  report("slow link: the script over rollcall log", ratio("script", "log"), { min: 0.9 });
};

/** Writes the groups, every second one without a reward. */
const writeHalfValid = async () => {
  const lines = [];
  for await (const line of createInterface({ input: createReadStream(groups, "utf8") })) {
    lines.push(lines.length % 2 === 0 ? line : line.replace('"reward":', '"rewarded":'));
  }
  const file = join(folder, "half.jsonl");
  writeFileSync(file, `${lines.join("\n")}\n`);
  return { file, rejected: Math.floor(lines.length / 2) };
};

/** The exit code of a run that rejected some groups. */
const partial = 7;

const withRejects = async () => {
  const { address, close } = await openService("sink");
  const env = environment(folder, { ROLLCALL_BASE_URL: address });
  const { file, rejected } = await writeHalfValid();
  const rejects = join(folder, "rejects.jsonl");
  const log = () => {
    for (const end of ["", ".reasons"]) rmSync(`${rejects}${end}`, { force: true });
    return processorMs(prepareLog(file, "--on-invalid", "skip", "--rejects", rejects), { env, code: partial });
  };
  const url = `${address}/v1/preview/models/m/log`;
  const { ms, ratio } = await takeTurns(
    {
      log,
      "all valid": () => processorMs(prepareLog(groups), { env }),
      script: () => processorMs(["bench/rivals.js", "valid", url, file, join(folder, "rejected.jsonl")], { env }),
    },
    rounds,
  );
  close();
  const each = (ms("log") - ms("all valid")) / rejected;
  console.log(
    `${rejected} lines rejected, as many logged, in processor time: log ${ms("log").toFixed(0)} ms, ` +
      `of the same without faults ${ms("all valid").toFixed(0)} ms, a script that puts them aside without reasons ${ms("script").toFixed(0)} ms`,
  );
  report("rejected lines: milliseconds that each costs", each, { max: 0.1 });
  report("rejected lines: the script over rollcall log", ratio("script", "log"), { min: 0.5 });
};

printMachine(rounds);
await overSlowLink();
await withRejects();
