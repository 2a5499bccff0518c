/** How the benches measure: programs that take turns, medians, and claims held against them. */
import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { join } from "node:path";

/** The top of the project. */
export const root = new URL("..", import.meta.url).pathname;

/** A folder that is gone when the bench is over, however it ends. */
export const newFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), "bench-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));
  return folder;
};

/** The environment of whoever measures, the same for all; only what rollcall reads is the bench's own: a folder, a key, and more. */
export const environment = (folder, own = {}) => {
  const kept = Object.entries(process.env).filter(([name]) => !/^(ROLLCALL_|FORCE_COLOR)/.test(name));
  const places = { HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder };
  return { ...Object.fromEntries(kept), ...places, ROLLCALL_API_KEY: "key", ...own };
};

/** Runs a program to its end, which has to be with exit code `code`, and gives the milliseconds it took. */
export const run = ([program, ...args], { env = process.env, cwd = root, output = "ignore", code: wanted = 0 } = {}) =>
  new Promise((resolve, reject) => {
    const started = performance.now();
    const child = spawn(program, args, { env, cwd, stdio: ["ignore", output, "pipe"] });
    const said = [];
    child.stderr.on("data", (chunk) => said.push(chunk));
    child.stdout?.resume();
    child.on("error", reject).on("close", (code) => {
      if (code === wanted) resolve(performance.now() - started);
      else reject(new Error(`${program} ${args.join(" ")} ended with ${code}\n${Buffer.concat(said)}`));
    });
  });

/** Runs a program of Node to its end; gives the figure that bench/peak.cjs tells of it. */
const figureOf = (command, { env, tells, input, code: wanted = 0 }) =>
  new Promise((resolve, reject) => {
    const [program = "", ...words] = command;
    const stdin = input === undefined ? "ignore" : openSync(input, "r");
    const child = spawn(program, words, {
      env: { ...env, BENCH_TELLS: tells },
      cwd: root,
      stdio: [stdin, "ignore", "pipe", "pipe"],
    });
    if (input !== undefined) closeSync(stdin);
    const [said, told] = [[], []];
    child.stderr.on("data", (chunk) => said.push(chunk));
    child.stdio[3].on("data", (chunk) => told.push(chunk));
    child.on("error", reject).on("close", (code) => {
      if (code === wanted) resolve(Number(Buffer.concat(told)));
      else reject(new Error(`${words.join(" ")} ended with ${code}\n${Buffer.concat(said)}`));
    });
  });

const telling = (args) => [process.execPath, "-r", "./bench/peak.cjs", ...args];

/** The milliseconds that a program of Node had the processor, on one core where Linux can hold it there; `code` is what it ends with. */
export const processorMs = async (args, { env = process.env, code } = {}) => {
  const held = process.platform === "linux" ? ["taskset", "-c", "0"] : [];
  return (await figureOf([...held, ...telling(args)], { env, tells: "processor", code })) / 1000;
};

/** The megabytes that a program of Node had at most; `input` is a file that it reads from standard input. */
export const peakMb = async (args, { env = process.env, input } = {}) =>
  (await figureOf(telling(args), { env, tells: "memory", input })) / 1024;

/** Opens a service of bench/serve.js, in a process of its own: Linux counts the memory of whoever starts a program as the program's own at its start. */
export const openService = async (...words) => {
  const child = spawn(process.execPath, [join(root, "bench/serve.js"), ...words.map(String)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  process.on("exit", () => child.kill());
  const port = await new Promise((resolve) => child.stdout.once("data", (text) => resolve(Number(text))));
  return { address: `http://127.0.0.1:${port}`, close: () => child.kill() };
};

/** Runs rollcall to its end, whatever that is; `onStart` is given the process. */
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

/** Starts a local service; gives its process, and its address once it listens. */
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
 * A service that takes a request once its body is whole, whether somebody still waits for the answer or not, and knows how
 * often each group was logged, by its reward. It takes up to so long before it logs a request, and as long again before it
 * answers; one that echoes `Idempotency-Key` logs no key twice.
 */
export const openTaker = async ({ slownessMs, chance, echoes = false }) => {
  const [taken, keys] = [new Map(), new Set()];
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
        }
      }
      keys.add(key);
      await pause(chance() * slownessMs);
      response.writeHead(200, echoes ? { "idempotency-key": key } : {}).end("{}");
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => server.close().closeAllConnections();
  return { url: `http://127.0.0.1:${server.address().port}`, taken, close };
};

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Whether a program is there. */
export const isThere = async (program) =>
  await run([program, "--version"]).then(
    () => true,
    () => false,
  );

export const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

/**
 * Runs every program once a round, in turn, so that whatever else the machine does falls on all of them alike.
 * Gives the medians, and the medians of the ratios within a round.
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

/** Prints what was measured on. */
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

/** Prints whether a measured figure is within its bound; one that is not fails the bench. */
export const holdTo = (what, measured, { least = 0, most = Number.POSITIVE_INFINITY }) => {
  const holds = measured >= least && measured <= most;
  const bound = least > 0 ? `at least ${least}` : `at most ${most}`;
  console.log(`${holds ? "holds" : "FAILS"}: ${what}: ${measured.toFixed(2)}, ${bound}`);
  if (!holds) process.exitCode = 1;
};
