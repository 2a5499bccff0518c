/**
 * Compares two services on one PostgreSQL with one service on a file: `node bench/team-service.js [rounds]`.
 */
import { Agent, request } from "node:http";
import { join } from "node:path";
import { environment, median, newFolder, printMachine, report, startService } from "./rounds.js";
import { openTeamDatabase } from "./team-database.js";

const rounds = Number(process.argv[2] ?? 5);
const folder = newFolder();
const key = "key";
const database = await openTeamDatabase();

const serve = async (own) => {
  const env = environment(folder, { ROLLCALL_LOCAL_KEY: key, ...own });
  const { child, url } = await startService(env, "--port", "0", "--data-dir", join(folder, "data"));
  process.on("exit", () => child.kill());
  return url;
};
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

const log = (url, body) =>
  new Promise((resolve, reject) => {
    const headers = {
      Authorization: `Bearer ${key}`,
      "Content-Type": "application/json",
      "Content-Length": body.length,
    };
    const asked = request(`${url}/v1/preview/models/m/log`, { method: "POST", agent, headers }, (reply) => {
      reply.resume().on("end", () => resolve(reply.statusCode));
    });
    asked.on("error", reject).end(body);
  });

/** Returns the body of a request with trajectories of 4 kB. */
const bodyOf = (count) => {
  const content = "What is the way from here, and how long will it take by train? ".repeat(30);
  const trajectory = (at) => ({
    messages_and_choices: [
      { role: "user", content: `${at} ${content}` },
      { role: "assistant", content },
    ],
    reward: at % 2,
  });
  const trajectories = Array.from({ length: count }, (_, at) => trajectory(at));
  return Buffer.from(JSON.stringify({ split: "train", trajectory_groups: [{ trajectories }] }));
};

let errors = 0;

/** Measures the MB/s of clients that send one request after the other. The clients use the services in turn. */
const rateOf = async (urls, { each, body, clients }) => {
  const started = performance.now();
  const client = async (_, at) => {
    for (let count = 0; count < each; count++) {
      const status = await log(urls[at % urls.length], body).catch(() => undefined);
      if (status !== 200) errors++;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return (clients * each * body.length) / 1e3 / (performance.now() - started);
};

const file = [await serve({})];
const shared = { ROLLCALL_STORE: database.address };
const team = [await serve(shared), await serve(shared)];
const sizes = [
  { clients: 100, what: "requests of 0.8 MB", body: bodyOf(200), each: 2 },
  { clients: 100, what: "requests of 40 kB", body: bodyOf(10), each: 10 },
  { clients: 1, what: "requests of 32 MB", body: bodyOf(8000), each: 3 },
];
printMachine(rounds);
for (const { what, clients, ...load } of sizes) {
  const rates = { file: [], team: [] };
  for (const urls of [file, team]) await rateOf(urls, { ...load, clients, each: 1 });
  for (let round = 0; round < rounds; round++) {
    rates.file.push(await rateOf(file, { ...load, clients }));
    rates.team.push(await rateOf(team, { ...load, clients }));
  }
  const ratio = median(rates.team.map((rate, round) => rate / (rates.file[round] ?? rate)));
  console.log(
    `${clients} ${clients === 1 ? "client" : "clients"}, ${what}: ${median(rates.file).toFixed(0)} MB/s in a file, ${median(rates.team).toFixed(0)} in PostgreSQL`,
  );
  report(`durable MB/s in PostgreSQL, to those in a file, ${what}`, ratio, { min: 0.5 });
}
report("requests that were not answered with 200", errors, { max: 0 });
database.stop();
process.exit();
