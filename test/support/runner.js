/**
 * Runs one command line after another as `bin/rollcall.js` does, in a process that stays: starting one takes ten times
 * as long as most runs. A run is over when nothing of it is left that would keep its process from ending.
 */
import { existsSync, readdirSync, readlinkSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import program from "../../dist/main.cjs";

process.on("disconnect", () => process.exit());

process.on("message", ({ args, env, stdin, cwd }) => {
  // From here on, only what the run itself holds open keeps the process alive.
  process.channel.unref();
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  process.exitCode = undefined;
  const [stdout, stderr] = [[], []];
  give("argv", [process.execPath, "rollcall", ...args]);
  give("stdin", Readable.from(piecesOf(stdin), { objectMode: false }));
  give("stdout", sinkInto(stdout));
  give("stderr", sinkInto(stderr));
  program.main(process).then((code) => {
    process.exitCode = code;
  });
  process.once("beforeExit", (code) => {
    process.channel.ref();
    const ran = { code, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr) };
    closeFiles(() => process.send(ran));
  });
});

/** The files of libsql are closed when the collector comes by, if the process did not end before. */
const closeFiles = (then) => {
  if (openFiles() === openAtStart) return then();
  globalThis.gc();
  setImmediate(then);
};

/** How many files are open, beside pipes and what else a process has; what equals nothing where nobody can tell. */
const openFiles = () => (existsSync(open) ? readdirSync(open).filter(isFile).length : Number.NaN);
const isFile = (number) => {
  try {
    return readlinkSync(`${open}/${number}`).startsWith("/");
  } catch {
    // It was open while the folder was read.
    return false;
  }
};
const open = "/proc/self/fd";
const openAtStart = openFiles();

const give = (name, value) => Object.defineProperty(process, name, { value, configurable: true });

const sinkInto = (chunks) =>
  new Writable({
    write(chunk, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });

/** As a pipe gives them. */
function* piecesOf(bytes) {
  for (let at = 0; at < bytes.length; at += bytesAtOnce) yield bytes.subarray(at, at + bytesAtOnce);
}

const bytesAtOnce = 65_536;
