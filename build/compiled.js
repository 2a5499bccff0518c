/**
 * Writes `dist/compiled.bin`: the functions that V8 compiles in typical runs, for the Node that builds. Its first four
 * bytes are the length of a JSON object, which has the place of each file of `dist` in the bytes after it.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import Module from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Script } from "node:vm";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, "dist");

/** The scripts of `dist` that were loaded, by name. */
const scripts = new Map();
const compile = Module.prototype._compile;
Module.prototype._compile = function (code, filename, ...more) {
  if (dirname(filename) !== dist) return compile.call(this, code, filename, ...more);
  const script = new Script(Module.wrap(code), { filename });
  scripts.set(basename(filename), script);
  return script
    .runInThisContext()
    .call(this.exports, this.exports, Module.createRequire(filename), this, filename, dist);
};

const models = '{"object":"list","data":[{"id":"m","object":"model","created":1,"owned_by":"o"}]}';
const service = createServer((request, response) => {
  request.resume().on("end", () => {
    response.setHeader("content-type", "application/json");
    response.end(request.method === "GET" ? models : '{"metrics":{},"call_ids":[]}');
  });
});
await new Promise((resolve) => service.listen(0, "127.0.0.1", resolve));

const folder = mkdtempSync(join(tmpdir(), "rollcall-compiled-"));
const url = `http://127.0.0.1:${service.address().port}`;
// For a larger input, rollcall changes a flag of V8 (`src/system/v8-limits.ts`). V8 then refuses the compiled
// functions.
const groups = join(folder, "groups.jsonl");
const lines = readFileSync(join(root, "test/samples/airline.groups.jsonl"), "utf8").split("\n");
writeFileSync(groups, lines.slice(0, 8).join("\n"));
const program = Module.createRequire(import.meta.url)(join(dist, "main.cjs"));
process.env = { PATH: process.env.PATH, HOME: folder, USERPROFILE: folder, ROLLCALL_API_KEY: "none" };
for (const args of [
  ["check", groups, "--split", "train"],
  ["stats", groups],
  ["compare", groups, groups],
  ["models", "--inference-base-url", url],
  ["log", "m", groups, "--split", "train", "--base-url", url],
]) {
  process.argv = [process.execPath, join(root, "bin/rollcall.js"), ...args];
  const code = await program.main(process);
  if (code !== 0) throw new Error(`rollcall ${args.join(" ")}: exit code ${code}`);
}
service.close();
rmSync(folder, { recursive: true });

const places = {};
const parts = [];
let length = 0;
for (const [name, script] of scripts) {
  const part = script.createCachedData();
  places[name] = { from: length, to: length + part.length };
  length += part.length;
  parts.push(part);
}
const index = Buffer.from(JSON.stringify(places));
const size = Buffer.alloc(4);
size.writeUInt32LE(index.length);
writeFileSync(join(dist, "compiled.bin"), Buffer.concat([size, index, ...parts]));
