/**
 * Measures how fast the local service stores requests, and whether it answers other requests in the meantime:
 * `node bench/service.js [megabytes]`.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { writeGroups } from "./input.js";
import { environment, median, newFolder, printMachine, report, startService } from "./rounds.js";

const megabytes = Number(process.argv[2] ?? 512);
const folder = newFolder();
const key = "key";
const env = environment(folder, { ROLLCALL_LOCAL_KEY: key });

const { child: service, url } = await startService(env, "--port", "0", "--data-dir", join(folder, "data"));
process.on("exit", () => service.kill());

const post = async (path, authorization, body) => {
  const reply = await fetch(`${url}${path}`, {
    method: "POST",
    headers: { Authorization: authorization, "Content-Type": "application/json" },
    body,
  });
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${path}: ${reply.status} ${text.slice(0, 500)}`);
  return JSON.parse(text);
};
const log = (body) => post("/v1/preview/models/m/log", `Bearer ${key}`, body);
const read = (id) =>
  post("/call/read", `Basic ${btoa(`api:${key}`)}`, JSON.stringify({ project_id: "local/local", id }));

/** Returns the body of a request. */
const bodyOf = (bytes, seed) => {
  const path = join(folder, "groups.jsonl");
  writeGroups(path, { bytes, seed });
  const groups = readFileSync(path, "utf8").trimEnd().replaceAll("\n", ",");
  return Buffer.from(`{"split":"train","trajectory_groups":[${groups}]}`);
};

const large = bodyOf(30e6, 1);
const small = bodyOf(1e5, 2);
const [first] = (await log(small)).call_ids;

/** Reads a call repeatedly while `going.on`. Returns the milliseconds of each read. */
const readAlong = async (going) => {
  const took = [];
  while (going.on) {
    const started = performance.now();
    await read(first);
    took.push(performance.now() - started);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return took;
};

const requests = Math.max(1, Math.round((megabytes * 1e6) / large.length));
await log(large);
const rates = [];
for (let request = 0; request < requests; request++) {
  const started = performance.now();
  await log(large);
  rates.push(large.length / 1e3 / (performance.now() - started));
}

const going = { on: true };
const reading = readAlong(going);
await log(large);
await log(large);
going.on = false;
const took = await reading;

/** Measures requests per second of clients that send one request after the other. */
const rateOf = async (clients, each, body) => {
  const started = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async () => {
      for (let request = 0; request < each; request++) await log(body);
    }),
  );
  return (clients * each * 1e3) / (performance.now() - started);
};
const clients = 50;
const many = ((await rateOf(clients, 5, small)) * small.length) / 1e6;
const tiny = JSON.stringify({
  split: "train",
  trajectory_groups: [{ trajectories: [{ messages_and_choices: [{ role: "user", content: "a" }], reward: 1 }] }],
});
const alone = await rateOf(1, 200, tiny);
const together = await rateOf(clients, 100, tiny);
service.kill();

printMachine(requests);
console.log(
  `one client, ${requests} requests of ${(large.length / 1e6).toFixed(0)} MB: ${median(rates).toFixed(0)} MB/s`,
);
console.log(`${clients} clients at once, requests of 0.1 MB: ${many.toFixed(0)} MB/s, no error`);
console.log(
  `requests of ${tiny.length} bytes: ${alone.toFixed(0)} a second from one client, ${together.toFixed(0)} from ${clients}`,
);
console.log(
  `calls read while it loads: ${took.length}, median ${median(took).toFixed(0)} ms, longest ${Math.max(...took).toFixed(0)} ms`,
);
report("MB/s from one client, durable", median(rates), { min: 100 });
report("calls read while it loads", took.length, { min: 2 });
// Waiting requests share a commit.
report("small requests of many clients, to those of one", together / alone, { min: 1.2 });
