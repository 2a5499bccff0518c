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
writeFileSync(input, "");
for (let at = 0; at < 1e6; at += 1e4)
  appendFileSync(input, Array.from({ length: 1e4 }, (_, of) => groupOf(at + of)).join(""));
const peak = await peakMb(["bin/rollcall.js", "log", "m", input, "--split", "train"], {
  env: environment(folder, { ROLLCALL_BASE_URL: service.url }),
});
service.child.kill();
holdTo("peak in MB for a million groups of one trajectory", peak, { most: 240 });
