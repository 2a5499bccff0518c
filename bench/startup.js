/**
 * Compares the start of rollcall, and a check or log of one group, with bare Node and a script with `fetch`:
 * `node bench/startup.js [rounds]`.
 */
import { join } from "node:path";
import { writeGroups } from "./input.js";
import { environment, newFolder, openService, printMachine, report, root, run, takeTurns } from "./rounds.js";

const rounds = Number(process.argv[2] ?? 31);
const home = newFolder();
const group = join(home, "group.jsonl");
writeGroups(group, { bytes: 1 });

const service = await openService("file", join(root, "test/samples/models.json"));
const sink = await openService("sink");

const own = { ROLLCALL_BASE_URL: sink.address, ROLLCALL_INFERENCE_BASE_URL: service.address };
const { NODE_EXTRA_CA_CERTS: certificates, ...plain } = environment(home, own);

const claims = [
  ["rollcall --version", "node -e 0", 1.25],
  ["rollcall models", "node -e 0", 5],
  ["rollcall models", "a script with fetch", 1],
  ["rollcall log", "node -e 0", 3],
];

let batch = 0;

const measure = async (env, title) => {
  const node = (...args) => run([process.execPath, ...args], { env, output: "pipe" });
  const programs = {
    "node -e 0": () => node("-e", "0"),
    "rollcall --version": () => node("bin/rollcall.js", "--version"),
    "rollcall models": () => node("bin/rollcall.js", "models"),
    "a script with fetch": () => node("bench/rivals.js", "models", service.address),
    "rollcall check": () => node("bin/rollcall.js", "check", group),
    "rollcall log": () => node("bin/rollcall.js", "log", "m", group, "--split", "train", "--batch", `step-${batch++}`),
  };
  const { ms, ratio } = await takeTurns(programs, rounds);
  console.log(title);
  for (const name of Object.keys(programs)) {
    const over = name === "node -e 0" ? "" : `  ${ratio(name, "node -e 0").toFixed(2)} × node -e 0`;
    console.log(`${name.padEnd(20)} ${ms(name).toFixed(1).padStart(7)} ms${over}`);
  }
  for (const [name, over, max] of claims) report(`${name} over ${over}`, ratio(name, over), { max });
};

printMachine(rounds);
await measure(plain, "without NODE_EXTRA_CA_CERTS, as on most machines");
if ((certificates ?? "") !== "") {
  await measure(
    { ...plain, NODE_EXTRA_CA_CERTS: certificates },
    "with NODE_EXTRA_CA_CERTS, which takes time of every start",
  );
}
service.close();
sink.close();
