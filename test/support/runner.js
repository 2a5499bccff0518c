/**
 * Runs command lines in turn like `bin/rollcall.js`, in one process, because a start takes ten times as
 * long as most runs. A run has ended when it no longer keeps its process alive.
 */
import { existsSync, readdirSync, readlinkSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import program from "../../dist/main.cjs";

process.on("disconnect", () => process.exit());

process.on("message", (message) => {
  if (message.signal === undefined) return start(message);
  process.emit(message.signal, message.signal);
  process.send({ received: message.signal });
});

const start = ({ args, env, stdin, cwd }) => {
  // From here on, only the run keeps the process alive.
  process.channel.unref();
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  process.exitCode = undefined;
  // A package that an earlier run loaded (when-exit, of conf) repeats the first signal that the process gets.
  for (const name of ["SIGHUP", "SIGINT", "SIGTERM"]) process.removeAllListeners(name);
  give("argv", [process.execPath, "rollcall", ...args]);
  give("stdin", Readable.from(piecesOf(stdin), { objectMode: false }));
  give("stdout", sentAs("stdout"));
  give("stderr", sentAs("stderr"));
  program.main(process).then((code) => {
    process.exitCode = code;
  });
  process.once("beforeExit", (code) => {
    process.channel.ref();
    closeFiles(() => process.send({ code }));
  });
};

/** libsql closes its files at garbage collection, or when the process ends. */
const closeFiles = (then) => {
  if (openFiles() === openAtStart) return then();
  globalThis.gc();
  setImmediate(then);
};

/** The number of open files without pipes; NaN if the system has no list of open files. */
const openFiles = () => (existsSync(open) ? readdirSync(open).filter(isFile).length : Number.NaN);
const isFile = (number) => {
  try {
    return readlinkSync(`${open}/${number}`).startsWith("/");
  } catch {
    // The file was closed after the folder was read.
    return false;
  }
};
const open = "/proc/self/fd";
const openAtStart = openFiles();

const give = (name, value) => Object.defineProperty(process, name, { value, configurable: true });

const sentAs = (name) =>
  new Writable({
    write(chunk, _encoding, done) {
      process.send({ [name]: chunk });
      done();
    },
  });

/** The pieces in which a pipe delivers bytes. */
function* piecesOf(bytes) {
  for (let at = 0; at < bytes.length; at += bytesAtOnce) yield bytes.subarray(at, at + bytesAtOnce);
}

const bytesAtOnce = 65_536;
