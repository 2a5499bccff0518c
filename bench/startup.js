/**
 * Compares the processor time of short runs of an installed package with bare Node: `node bench/startup.js [rounds]`.
 * An installed package has no code that the build has compiled.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { groupOf } from "./input.js";
import { environment, newFolder, openSink, printMachine, processorMs, report, root, takeTurns } from "./rounds.js";

const rounds = Number(process.argv[2] ?? 31);
const home = newFolder();

/** Packs the checkout and installs the package without the network, with the libsql of the checkout. */
const install = () => {
  const words = ["pack", "--ignore-scripts", "--silent", "--pack-destination", home];
  const packed = execFileSync("npm", words, { encoding: "utf8", cwd: root, env: { ...process.env, HOME: home } });
  execFileSync("tar", ["-xzf", join(home, packed.trim()), "-C", home]);
  const folder = join(home, "package");
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(realpathSync(join(root, "node_modules/libsql")), join(folder, "node_modules/libsql"));
  return join(folder, "bin/rollcall.js");
};

const rollcall = install();
const groups = join(home, "groups.jsonl");
writeFileSync(groups, Array.from({ length: 10 }, (_, at) => groupOf(at)).join(""));
const sink = await openSink();
const { NODE_EXTRA_CA_CERTS: _, ...env } = environment(home, { ROLLCALL_BASE_URL: sink.address });

const node = (...args) => processorMs(args, { env, cores: "all" });
let batch = 0;
const programs = {
  "node -e 0": () => node("-e", "0"),
  "rollcall check": () => node(rollcall, "check", groups),
  "rollcall log": () => node(rollcall, "log", "m", groups, "--split", "train", "--batch", `step-${batch++}`),
};
/** Node 22 and newer keep compiled code for the second run. */
const hasCache = Number.parseInt(process.versions.node, 10) >= 22;
/** The maximum processor time, divided by the time of bare Node. */
const bounds = { "rollcall check": hasCache ? 2.6 : 3.2, "rollcall log": hasCache ? 4.2 : 5 };

printMachine(rounds);
const { ms, ratio } = await takeTurns(programs, rounds);
for (const name of Object.keys(programs)) console.log(`${name.padEnd(16)} ${ms(name).toFixed(1).padStart(7)} ms`);
for (const [name, max] of Object.entries(bounds)) report(`${name} over node -e 0`, ratio(name, "node -e 0"), { max });
sink.close();
