/**
 * How long rollcall takes to start, beside bare Node and a script with Node's own `fetch`: `node bench/startup.js [rounds]`.
 * Every round runs each program once, in turn, so that whatever else the machine does falls on all of them alike;
 * what is said is the median of the rounds, and the median of the ratios within them.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";

const rounds = Number(process.argv[2] ?? 31);
const root = new URL("..", import.meta.url).pathname;
const models = readFileSync(join(root, "test/samples/models.json"));
const home = mkdtempSync(join(tmpdir(), "bench-"));

const server = createServer((_, response) => {
  response.writeHead(200, { "content-type": "application/json", "content-length": models.length }).end(models);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

// The environment of whoever measures, the same for all; only what rollcall reads is the bench's own.
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(ROLLCALL_|FORCE_COLOR)/.test(name)));
Object.assign(env, {
  HOME: home,
  XDG_CONFIG_HOME: home,
  XDG_DATA_HOME: home,
  ROLLCALL_INFERENCE_BASE_URL: `http://127.0.0.1:${server.address().port}`,
  ROLLCALL_API_KEY: "key",
});

/** Runs Node to its end and gives the milliseconds it took. */
const run = (args) =>
  new Promise((resolve, reject) => {
    const started = performance.now();
    const child = spawn(process.execPath, args, { env, cwd: root, stdio: ["ignore", "pipe", "inherit"] });
    child.stdout.resume();
    child.on("error", reject).on("close", (code) => {
      if (code === 0) resolve(performance.now() - started);
      else reject(new Error(`node ${args.join(" ")} ended with ${code}`));
    });
  });

const programs = {
  "node -e 0": ["-e", "0"],
  "rollcall --version": ["bin/rollcall.js", "--version"],
  "rollcall models": ["bin/rollcall.js", "models"],
  "a script with fetch": ["bench/fetch-models.js"],
};

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

const times = Object.fromEntries(Object.keys(programs).map((name) => [name, []]));
for (const args of Object.values(programs)) await run(args);
for (let round = 0; round < rounds; round++) {
  for (const [name, args] of Object.entries(programs)) times[name].push(await run(args));
}
server.close();
rmSync(home, { recursive: true });

const ratio = (name, over) => median(times[name].map((ms, round) => ms / times[over][round]));

console.log(
  `Node ${process.version}, ${cpus()[0]?.model ?? "unknown processor"}, ${cpus().length} cores, ${rounds} rounds`,
);
for (const name of ["NODE_EXTRA_CA_CERTS", "NODE_OPTIONS"]) {
  if (env[name] !== undefined && env[name] !== "")
    console.log(`with ${name}, which takes time of every start, bare Node's included`);
}
for (const name of Object.keys(programs)) {
  const over = name === "node -e 0" ? "" : `  ${ratio(name, "node -e 0").toFixed(2)} × node -e 0`;
  console.log(`${name.padEnd(20)} ${median(times[name]).toFixed(1).padStart(7)} ms${over}`);
}

const claims = [
  ["rollcall --version", "node -e 0", 1.25],
  ["rollcall models", "node -e 0", 2.5],
  ["rollcall models", "a script with fetch", 1],
];
for (const [name, over, most] of claims) {
  const measured = ratio(name, over);
  console.log(
    `${measured <= most ? "holds" : "FAILS"}: ${name} takes ${measured.toFixed(2)} times ${over}, at most ${most}`,
  );
  if (measured > most) process.exitCode = 1;
}
