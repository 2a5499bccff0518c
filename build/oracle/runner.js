/**
 * Runs one command line of a build after another in a process that stays. The clock and chance are given with each
 * command line, so that two builds see the same. A run is over when nothing of it keeps its process from ending.
 */
import { existsSync, readdirSync, readlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { Readable, Writable } from "node:stream";
import { randomFrom } from "./random.js";

const require = createRequire(import.meta.url);
const crypto = require("node:crypto");
const realNow = Date.now;
let random = randomFrom(0);
crypto.randomBytes = (size) => Buffer.from(Array.from({ length: size }, () => random() * 256));
crypto.randomUUID = () =>
  crypto
    .randomBytes(16)
    .toString("hex")
    .replace(/^(.{8})(....).(...).(...)/, "$1-$2-4$3-8$4-");
const program = require(process.argv[2]);

process.on("disconnect", () => process.exit());

process.on("message", (message) => {
  if (message.signal === undefined) start(message);
  else process.emit(message.signal, message.signal);
});

const start = ({ args, env, stdin, cwd, columns, now, seed }) => {
  // From here on, only what the run itself has open keeps the process alive.
  process.channel.unref();
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  process.exitCode = undefined;
  const startedAt = realNow();
  Date.now = () => now + Math.floor((realNow() - startedAt) / tickMs) * tickMs;
  random = randomFrom(seed);
  Math.random = random;
  give("argv", [process.execPath, "rollcall", ...args]);
  give("stdin", Readable.from(piecesOf(stdin), { objectMode: false }));
  give("stdout", Object.assign(passOn("stdout"), columns === undefined ? {} : { isTTY: true, columns, rows: 50 }));
  give("stderr", passOn("stderr"));
  program.main(process).then((code) => {
    process.exitCode = code;
  });
  process.once("beforeExit", (code) => {
    process.channel.ref();
    closeFiles(() => process.send({ code }));
  });
};

/** The clock of a run moves in steps, so that short runs of both builds see the same times. */
const tickMs = 10_000;

const give = (name, value) => Object.defineProperty(process, name, { value, configurable: true });

const passOn = (stream) =>
  new Writable({
    write(chunk, _encoding, done) {
      process.send({ stream, chunk });
      done();
    },
  });

/** libsql closes files when the garbage collector runs, unless the process ends before. */
const closeFiles = (then) => {
  if (openFiles() === openAtStart) return then();
  globalThis.gc();
  setImmediate(then);
};

/** Number of open files, without pipes; NaN if the system has no list of them. */
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

const bytesAtOnce = 65_536;

/** Yields bytes as a pipe does. */
function* piecesOf(bytes) {
  for (let at = 0; at < bytes.length; at += bytesAtOnce) yield bytes.subarray(at, at + bytesAtOnce);
}
