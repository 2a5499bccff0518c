/**
 * Kills one of two services or their database again and again: `node bench/team-kill.js [kills]`. Every request that
 * was answered with 200 must be stored, and every request with an `Idempotency-Key` must be stored exactly once.
 */
import { randomUUID } from "node:crypto";
import pg from "pg";
import { environment, newFolder, pause, report, startService } from "./rounds.js";
import { openTeamDatabase } from "./team-database.js";

const kills = Number(process.argv[2] ?? 40);
const clients = 24;
const folder = newFolder();
const database = await openTeamDatabase();
const children = new Set();
process.on("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});
const env = environment(folder, { ROLLCALL_LOCAL_KEY: "key", ROLLCALL_STORE: database.address });

const serve = async (port) => {
  const service = await startService(env, "--port", port);
  children.add(service.child);
  return service;
};
const services = [await serve("0"), await serve("0")];
const addresses = services.map(({ url }) => url);

const log = async (address, body, key) => {
  const reply = await fetch(`${address}/v1/preview/models/m/log`, {
    method: "POST",
    headers: { Authorization: "Bearer key", "Content-Type": "application/json", "Idempotency-Key": key },
    body,
  });
  return { status: reply.status, answer: await reply.json() };
};

/** Every fifth body is so large that the store splits the body into several pieces. */
const contentOf = (reward) => "a".repeat(reward % 50 === 0 ? 6_000_000 : reward % 5 === 0 ? 1_500_000 : 100);

const bodyOf = (reward) =>
  JSON.stringify({
    split: "train",
    trajectory_groups: [
      { trajectories: [{ messages_and_choices: [{ role: "user", content: contentOf(reward) }], reward }] },
    ],
  });

const logged = new Map();
let asked = 0;
let tries = 0;
let isOver = false;

/** Sends one request after the other. Repeats a request until a service answers with 200. */
const client = async () => {
  while (!isOver) {
    const reward = asked++;
    const [body, key] = [bodyOf(reward), randomUUID()];
    while (!logged.has(reward)) {
      tries++;
      const address = addresses[Math.floor(Math.random() * addresses.length)];
      const { status, answer } = await log(address, body, key).catch(() => ({ status: 0, answer: {} }));
      if (status === 200) logged.set(reward, answer.call_ids[0]);
      else await pause(100 + 200 * Math.random());
    }
  }
};
const running = Array.from({ length: clients }, client);
for (let kill = 0; kill < kills; kill++) {
  await pause(1000 * Math.random());
  if (kill % 2 === 0) {
    database.stopNow();
    await pause(kill % 8 === 0 ? 7000 : 300);
    database.start();
  } else {
    const at = Math.floor(kill / 2) % 2;
    services[at].child.kill("SIGKILL");
    services[at] = await serve(String(new URL(addresses[at]).port));
  }
}
await pause(3000);
isOver = true;
await Promise.all(running);

const stored = new pg.Client({ connectionString: database.address });
await stored.connect();
const { rows } = await stored.query("SELECT encode(id, 'hex') AS id FROM rollcall.logged");
await stored.end();
const there = new Set(rows.map(({ id }) => id));
const lost = [...logged.values()].filter((id) => !there.has(id.replaceAll("-", "")));
let broken = 0;
for (const [reward, id] of logged) {
  const reply = await fetch(`${addresses[0]}/call/read`, {
    method: "POST",
    headers: {
      Authorization: `Basic ${Buffer.from("api:key").toString("base64")}`,
      "Content-Type": "application/json",
    },
    body: JSON.stringify({ project_id: "local/local", id }),
  });
  if (!(await reply.text()).includes(`"${contentOf(reward)}"`)) broken++;
}
const ends = services.map(({ child }) => new Promise((resolve) => child.once("close", resolve)));
for (const { child } of services) child.kill("SIGTERM");
const codes = await Promise.all(ends);
database.stop();
console.log(
  `a store in PostgreSQL, ${kills} kills of it and of two services; ${logged.size} requests logged in ${tries} tries`,
);
report("requests that were answered with 200 and are not there", lost.length, { max: 0 });
report("other requests in the store", rows.length - logged.size, { max: 0 });
report("requests that are not read back whole", broken, { max: 0 });
report("services that did not end with 0 once they were told to", codes.filter((code) => code !== 0).length, {
  max: 0,
});
process.exit();
