/**
 * Measures the peak memory of `rollcall log`: `node bench/memory.js [maximum megabytes]`. The largest temporary file
 * has 4 GB by default.
 */
import { appendFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { groupOf, writeGroups } from "./input.js";
import { environment, newFolder, openSink, peakMb, printMachine, report, startService } from "./rounds.js";

const largest = Number(process.argv[2] ?? 4000);
const folder = newFolder();
const input = join(folder, "groups.jsonl");
const sink = await openSink();
const env = environment(folder, { ROLLCALL_BASE_URL: sink.address });

const cases = [
  { megabytes: 100, lineBytes: 4096, max: 200 },
  { megabytes: 1000, lineBytes: 4096, max: 200 },
  { megabytes: 4000, lineBytes: 4096, max: 200 },
  { megabytes: 1000, lineBytes: 1e6, max: 200 },
  { megabytes: 200, lineBytes: 10e6, max: 150 + 5 * 10 },
  { megabytes: 300, lineBytes: 100e6, max: 150 + 5 * 100 },
];

printMachine(1);
for (const { megabytes, lineBytes, max } of cases) {
  if (megabytes > largest) continue;
  writeGroups(input, { bytes: megabytes * 1e6, lineBytes });
  const peak = await peakMb(["bin/rollcall.js", "log", "m", input, "--split", "train"], { env });
  rmSync(join(folder, "rollcall"), { recursive: true, force: true });
  report(`peak in MB for ${megabytes} MB in lines of ${lineBytes / 1e6} MB`, peak, { max });
}
/** Writes a million lines. `lineOf` composes a line from its number. */
const writeMillion = (path, lineOf) => {
  writeFileSync(path, "");
  for (let at = 0; at < 1e6; at += 1e4)
    appendFileSync(path, Array.from({ length: 1e4 }, (_, of) => lineOf(at + of)).join(""));
};

writeMillion(input, groupOf);
const logMillion = ["bin/rollcall.js", "log", "m", input, "--split", "train"];
report("peak in MB for a million groups of one trajectory", await peakMb(logMillion, { env }), { max: 200 });
sink.close();
rmSync(join(folder, "rollcall"), { recursive: true, force: true });

// The answer of this service grows, because the answer has an id for each trajectory.
const service = await startService(
  environment(folder, { ROLLCALL_LOCAL_KEY: "key" }),
  ...["--port", "0", "--data-dir", join(folder, "store")],
);

const peak = await peakMb(logMillion, { env: environment(folder, { ROLLCALL_BASE_URL: service.url }) });
service.child.kill();
report("peak in MB for a million groups whose calls the service names", peak, { max: 240 });

const trajectoryOf = (at) =>
  `{"messages_and_choices":[{"role":"user","content":"q${at}"}],"reward":${at},"metadata":{"task":"t${at >> 2}"}}\n`;

const other = join(folder, "other.jsonl");
writeMillion(other, trajectoryOf);
const grouped = await peakMb(["bin/rollcall.js", "check", other, "--split", "train", "--group-by", "task"], { env });
report("peak in MB for a million trajectories with --group-by", grouped, { max: 200 });

// One line of token ids and their log probabilities.
const tokens = Array.from({ length: 1e6 }, (_, at) => (at * 7919) % 150_000).join();
const logprobs = Array.from({ length: 1e6 }, (_, at) => -((at * 7919) % 1000) / 1000).join();
const times = Math.ceil((Math.min(300, largest) * 1e6) / (tokens.length + logprobs.length));
const lists = Array.from({ length: times }, () => `{"token_ids":[${tokens}],"logprobs":[${logprobs}]}`).join();
const line = `{"trajectories":[{"messages_and_choices":[{"role":"user","content":"q"}],"reward":1,"tokens":[${lists}]}]}\n`;
writeFileSync(input, line);
const tokensPeak = await peakMb(["bin/rollcall.js", "check", input, "--split", "train"], { env });
report(`peak in MB for a line of ${(line.length / 1e6).toFixed(0)} MB of numbers`, tokensPeak, {
  max: (3 * line.length) / 1e6 + 100,
});
