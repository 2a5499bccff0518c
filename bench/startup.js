/**
 * Compares the processor time of short runs of rollcall with bare Node, with the code that the build has compiled and
 * without it, as in an installed package: `node bench/startup.js [rounds]`.
 */
import { cpSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { writeGroups } from "./input.js";
import { environment, newFolder, openService, printMachine, processorMs, report, root, takeTurns } from "./rounds.js";

const rounds = Number(process.argv[2] ?? 31);
const home = newFolder();
const groups = join(home, "groups.jsonl");
writeGroups(groups, { bytes: 4e4 });

const service = await openService("file", join(root, "test/samples/models.json"));
const sink = await openService("sink");

const own = { ROLLCALL_BASE_URL: sink.address, ROLLCALL_INFERENCE_BASE_URL: service.address };
const { NODE_EXTRA_CA_CERTS: certificates, ...plain } = environment(home, own);

/** A copy of the program without the compiled code. */
const packed = join(home, "packed");
for (const name of ["bin", "dist", "package.json"])
  cpSync(join(root, name), join(packed, name), { recursive: true, filter: (path) => !path.endsWith("compiled.bin") });
symlinkSync(join(root, "node_modules"), join(packed, "node_modules"));

/** The maximum processor time of each program, divided by the time of bare Node. */
const bounds = {
  "node -e 0": {},
  "rollcall --version": { compiled: 1.25, packed: 1.25 },
  "rollcall models": { compiled: 2.8, packed: 3.2 },
  "rollcall check": { compiled: 2.6, packed: 3.2 },
  "rollcall log": { compiled: 4.2, packed: 5 },
};

let batch = 0;

const measure = async (env, title, folder) => {
  const node = async (...args) => await processorMs(args, { env, cores: "all" });
  const rollcall = (...args) => node(join(folder, "bin/rollcall.js"), ...args);
  const programs = {
    "node -e 0": () => node("-e", "0"),
    "rollcall --version": () => rollcall("--version"),
    "rollcall models": () => rollcall("models"),
    "rollcall check": () => rollcall("check", groups),
    "rollcall log": () => rollcall("log", "m", groups, "--split", "train", "--batch", `step-${batch++}`),
  };
  const { ms, ratio } = await takeTurns(programs, rounds);
  console.log(`${title}, ${folder === root ? "with" : "without"} compiled code`);
  for (const [name, { compiled, packed: withoutCode }] of Object.entries(bounds)) {
    console.log(`${name.padEnd(20)} ${ms(name).toFixed(1).padStart(7)} ms`);
    const max = folder === root ? compiled : withoutCode;
    if (max !== undefined) report(`${name} over node -e 0`, ratio(name, "node -e 0"), { max });
  }
};

printMachine(rounds);
await measure(plain, "without NODE_EXTRA_CA_CERTS, as on most machines", root);
await measure(plain, "without NODE_EXTRA_CA_CERTS", packed);
if ((certificates ?? "") !== "")
  await measure({ ...plain, NODE_EXTRA_CA_CERTS: certificates }, "with NODE_EXTRA_CA_CERTS", root);
service.close();
sink.close();
