/**
 * How much memory `rollcall log` takes at most, whatever the size of the file: `node bench/memory.js [largest megabytes]`.
 * The files are written to the folder for temporary files, one at a time; the largest has 4 GB where nothing is said.
 */
import { appendFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { groupOf, writeGroups } from "./input.js";
import { environment, holdTo, newFolder, openService, peakMb, printMachine, startService } from "./rounds.js";

const largest = Number(process.argv[2] ?? 4000);
const folder = newFolder();
const input = join(folder, "groups.jsonl");
const sink = await openService("sink");
const env = environment(folder, { ROLLCALL_BASE_URL: sink.address });

const cases = [
  { megabytes: 100, lineBytes: 4096, most: 200 },
  { megabytes: 1000, lineBytes: 4096, most: 200 },
  { megabytes: 4000, lineBytes: 4096, most: 200 },
  { megabytes: 1000, lineBytes: 1e6, most: 200 },
  { megabytes: 200, lineBytes: 10e6, most: 150 + 5 * 10 },
  { megabytes: 300, lineBytes: 100e6, most: 150 + 5 * 100 },
];

printMachine(1);
for (const { megabytes, lineBytes, most } of cases) {
  if (megabytes > largest) continue;
  writeGroups(input, { bytes: megabytes * 1e6, lineBytes });
  const peak = await peakMb(["bin/rollcall.js", "log", "m", input, "--split", "train"], { env });
  rmSync(join(folder, "rollcall"), { recursive: true, force: true });
  holdTo(`peak in MB for ${megabytes} MB in lines of ${lineBytes / 1e6} MB`, peak, { most });
}
sink.close();

// What a service answers grows with the groups too: it names a call of each trajectory.
const service = await startService(
  environment(folder, { ROLLCALL_LOCAL_KEY: "key" }),
  ...["--port", "0", "--data-dir", join(folder, "store")],
);

/** Writes a million lines, each by its number. */
const writeMillion = (path, lineOf) => {
  writeFileSync(path, "");
  for (let at = 0; at < 1e6; at += 1e4)
    appendFileSync(path, Array.from({ length: 1e4 }, (_, of) => lineOf(at + of)).join(""));
};

writeMillion(input, groupOf);
const peak = await peakMb(["bin/rollcall.js", "log", "m", input, "--split", "train"], {
  env: environment(folder, { ROLLCALL_BASE_URL: service.url }),
});
service.child.kill();
holdTo("peak in MB for a million groups of one trajectory", peak, { most: 240 });

/** Four trajectories of a task are a group by its key. */
const trajectoryOf = (at) =>
  `{"messages_and_choices":[{"role":"user","content":"q${at}"}],"reward":${at},"metadata":{"task":"t${at >> 2}"}}\n`;

const other = join(folder, "other.jsonl");
writeMillion(other, (at) => groupOf(-at - 1));
const against = await peakMb(["bin/rollcall.js", "check", input, "--split", "train", "--against", other], { env });
holdTo("peak in MB for a million groups --against a million", against, { most: 200 });
writeMillion(other, trajectoryOf);
const grouped = await peakMb(["bin/rollcall.js", "check", other, "--split", "train", "--group-by", "task"], { env });
holdTo("peak in MB for a million trajectories with --group-by", grouped, { most: 200 });

// One line of token ids and their log probabilities.
const tokens = Array.from({ length: 1e6 }, (_, at) => (at * 7919) % 150_000).join();
const logprobs = Array.from({ length: 1e6 }, (_, at) => -((at * 7919) % 1000) / 1000).join();
const times = Math.ceil((Math.min(300, largest) * 1e6) / (tokens.length + logprobs.length));
const lists = Array.from({ length: times }, () => `{"token_ids":[${tokens}],"logprobs":[${logprobs}]}`).join();
const line = `{"trajectories":[{"messages_and_choices":[{"role":"user","content":"q"}],"reward":1,"tokens":[${lists}]}]}\n`;
writeFileSync(input, line);
const tokensPeak = await peakMb(["bin/rollcall.js", "check", input, "--split", "train"], { env });
holdTo(`peak in MB for a line of ${(line.length / 1e6).toFixed(0)} MB of numbers`, tokensPeak, {
  most: (3 * line.length) / 1e6 + 100,
});
