/** Measures programs in turn, and compares the medians with bounds. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { join } from "node:path";

export const root = new URL("..", import.meta.url).pathname;

/** Creates a folder that is removed when the bench ends. */
export const newFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), "bench-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));
  return folder;
};

/** Returns the current environment with a private home folder and key for rollcall. */
export const environment = (folder, own = {}) => {
  const kept = Object.entries(process.env).filter(([name]) => !/^(ROLLCALL_|FORCE_COLOR)/.test(name));
  const places = { HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder };
  return { ...Object.fromEntries(kept), ...places, ROLLCALL_API_KEY: "key", ...own };
};

/** Runs a program and returns its time in milliseconds. Another exit code than `code` is an error. */
export const run = ([program, ...args], { env = process.env, cwd = root, output = "ignore", code: wanted = 0 } = {}) =>
  new Promise((resolve, reject) => {
    const started = performance.now();
    const child = spawn(program, args, { env, cwd, stdio: ["ignore", output, "pipe"] });
    const errors = [];
    child.stderr.on("data", (chunk) => errors.push(chunk));
    child.stdout?.resume();
    child.on("error", reject).on("close", (code) => {
      if (code === wanted) resolve(performance.now() - started);
      else reject(new Error(`${program} ${args.join(" ")} ended with ${code}\n${Buffer.concat(errors)}`));
    });
  });

/** Runs a program and returns the number that it writes to descriptor 3. */
export const measure = ([program, ...words], { env, code: wanted = 0 }) =>
  new Promise((resolve, reject) => {
    const child = spawn(program, words, { env, cwd: root, stdio: ["ignore", "ignore", "pipe", "pipe"] });
    const [errors, figures] = [[], []];
    child.stderr.on("data", (chunk) => errors.push(chunk));
    child.stdio[3].on("data", (chunk) => figures.push(chunk));
    child.on("error", reject).on("close", (code) => {
      if (code === wanted) resolve(Number(Buffer.concat(figures)));
      else reject(new Error(`${words.join(" ")} ended with ${code}\n${Buffer.concat(errors)}`));
    });
  });

const withPeakScript = (args) => [process.execPath, "-r", "./bench/peak.cjs", ...args];

/** Returns the processor time of a Node program in milliseconds, on Linux on one core unless `cores` is "all". */
export const processorMs = async (args, { env = process.env, code, cores = "one" } = {}) => {
  const pinned = process.platform === "linux" && cores === "one" ? ["taskset", "-c", "0"] : [];
  const told = { ...env, BENCH_TELLS: "processor" };
  return (await measure([...pinned, ...withPeakScript(args)], { env: told, code })) / 1000;
};

/** Returns the peak memory of a Node program in megabytes. */
export const peakMb = async (args, { env = process.env } = {}) =>
  (await measure(withPeakScript(args), { env: { ...env, BENCH_TELLS: "memory" } })) / 1024;

/** Opens a service that reads requests, and stores nothing. */
export const openSink = async () => {
  const server = createServer((request, response) => request.resume().on("end", () => response.end("{}")));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => server.close().closeAllConnections();
  return { address: `http://127.0.0.1:${server.address().port}`, close };
};

/** Runs rollcall. `onStart` is called with the process. */
export const runRollcall = async (args, { env, onStart = () => undefined }) => {
  const child = spawn(process.execPath, ["bin/rollcall.js", ...args], {
    env,
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
  });
  onStart(child);
  const [out, err] = [[], []];
  child.stdout.on("data", (chunk) => out.push(chunk));
  child.stderr.on("data", (chunk) => err.push(chunk));
  const code = await new Promise((resolve) => child.on("close", resolve));
  return { code, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() };
};

/** Starts a local service. When the service listens, resolves with the process and the URL. */
export const startService = async (env, ...words) => {
  const args = ["bin/rollcall.js", "serve", ...words];
  const child = spawn(process.execPath, args, { env, cwd: root, stdio: ["ignore", "ignore", "pipe"] });
  const url = await new Promise((resolve) => {
    child.stderr.once("data", (text) => resolve(/http:\S+/.exec(String(text))?.[0])).once("close", resolve);
  });
  child.stderr.resume();
  return { child, url };
};

/**
 * Opens a service that counts how often each group was logged. Rewards identify groups. The service logs every complete
 * request, even if the client left, with a random delay before it logs and before it answers. If the service echoes
 * `Idempotency-Key`, it logs each key once.
 */
export const openCountingService = async ({ slownessMs, chance, echoes = false }) => {
  const [taken, texts, keys] = [new Map(), new Map(), new Set()];
  const server = createServer((request, response) => {
    const chunks = [];
    request.on("error", () => undefined);
    response.on("error", () => undefined);
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", async () => {
      await pause(chance() * slownessMs);
      const key = request.headers["idempotency-key"];
      if (!echoes || !keys.has(key)) {
        for (const group of JSON.parse(Buffer.concat(chunks).toString()).trajectory_groups) {
          const { reward } = group.trajectories[0];
          taken.set(reward, (taken.get(reward) ?? 0) + 1);
          texts.set(reward, JSON.stringify(group));
        }
      }
      keys.add(key);
      await pause(chance() * slownessMs);
      response.writeHead(200, echoes ? { "idempotency-key": key } : {}).end("{}");
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => server.close().closeAllConnections();
  return { url: `http://127.0.0.1:${server.address().port}`, taken, texts, close };
};

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export const isInstalled = async (program, ...words) =>
  await run([program, ...words]).then(
    () => true,
    () => false,
  );

export const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

/**
 * Runs every program once per round, so other load on the machine affects all of them alike.
 * Returns the medians, and the medians of the ratios within a round.
 */
export const takeTurns = async (programs, rounds) => {
  const times = Object.fromEntries(Object.keys(programs).map((name) => [name, []]));
  for (const start of Object.values(programs)) await start();
  for (let round = 0; round < rounds; round++) {
    for (const [name, start] of Object.entries(programs)) times[name].push(await start());
  }
  return {
    ms: (name) => median(times[name]),
    ratio: (name, over) => median(times[name].map((ms, round) => ms / times[over][round])),
  };
};

export const printMachine = (rounds) => {
  const [processor] = cpus();
  console.log(
    `Node ${process.version}, ${processor?.model ?? "unknown processor"}, ${availableParallelism()} of ${cpus().length} cores, ${rounds} rounds`,
  );
  for (const name of ["NODE_EXTRA_CA_CERTS", "NODE_OPTIONS"]) {
    if ((process.env[name] ?? "") !== "")
      console.log(`with ${name}, which takes time of every start, bare Node's included`);
  }
};

/** Prints whether a measured number is within its bound. If not, the bench fails. */
export const report = (what, measured, { min = 0, max = Number.POSITIVE_INFINITY }) => {
  const holds = measured >= min && measured <= max;
  const bound = min > 0 ? `at least ${min}` : `at most ${max}`;
  console.log(`${holds ? "holds" : "FAILS"}: ${what}: ${measured.toFixed(2)}, ${bound}`);
  if (!holds) process.exitCode = 1;
};
