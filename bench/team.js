/**
 * Runs many uploaders with one ledger in PostgreSQL while uploaders are killed, the database restarts, and the network
 * drops, delays and half-closes connections. Counts what arrived:
 *   node bench/team.js [uploaders] [groups] [kills] [restarts] [seed]
 * The service ignores idempotency keys. The ledger must have each interrupted request as unknown. All other groups must
 * arrive exactly once.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { groupOf, randomFrom } from "./input.js";
import { openCountingService, pause, runRollcall } from "./rounds.js";
import { openTeamDatabase } from "./team-database.js";

const [uploaders = 16, groups = 20_000, kills = 200, restarts = 20, seed = Date.now() % 1_000_000] = process.argv
  .slice(2)
  .map(Number);
const chance = randomFrom(seed);

/** Groups of a request. */
const perRequest = 10;

/** A proxy to the database that cuts, half-closes or delays connections. */
const openNetwork = async (port) => {
  const server = createTcpServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    const end = () => {
      near.destroy();
      far.destroy();
    };
    near.on("error", end).on("close", end);
    far.on("error", end).on("close", end);
    near.pipe(far);
    far.pipe(near);
    const fate = chance();
    const later = setTimeout(() => {
      if (fate < 0.1) end();
      else if (fate < 0.15) near.end();
      else if (fate < 0.2) far.pause();
      else if (fate < 0.4) {
        far.unpipe(near);
        setTimeout(() => far.pipe(near), 500 * chance());
      }
    }, 2000 * chance());
    near.on("close", () => clearTimeout(later));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: server.address().port, close: () => server.close() };
};

const folder = mkdtempSync(join(tmpdir(), "team-"));
const [database, service] = [await openTeamDatabase(), await openCountingService({ slownessMs: 30, chance })];
const network = await openNetwork(database.port);
const file = join(folder, "groups.jsonl");
writeFileSync(file, Array.from({ length: groups }, (_, at) => groupOf(at)).join(""));
const env = (port) => ({
  PATH: process.env.PATH,
  HOME: folder,
  ROLLCALL_BASE_URL: service.url,
  ROLLCALL_TOKEN: "key",
  ROLLCALL_LEDGER: database.address.replace(`:${database.port}`, `:${port}`),
});
const limit = groupOf(groups).length * perRequest + 40;
const words = [
  "log",
  "m",
  file,
  "--split",
  "train",
  "--json",
  "--new-ledger",
  "--allow",
  "split-requests",
  "--max-request-size",
  String(limit),
];
const counts = { runs: 0, kills: 0, restarts: 0, ends: {} };
const alive = new Set();

const run = async (args, port) => {
  let own;
  const onStart = (child) => {
    own = child;
    alive.add(child);
  };
  return await runRollcall(args, { env: env(port), onStart }).finally(() => alive.delete(own));
};

let isOver = false;
const uploader = async () => {
  while (!isOver) {
    counts.runs++;
    const { code, stdout, stderr } = await run(words, network.port);
    counts.ends[code] = (counts.ends[code] ?? 0) + 1;
    if (code === 1) process.stderr.write(stderr);
    // A run ends at a request with an unknown outcome, and the next run sends the other groups.
    if (code === 0 || (code === 8 && JSON.parse(stdout).groups.not_sent === 0)) return;
  }
};

const started = Date.now();
const trouble = async () => {
  for (let at = 0; at < kills + restarts && !isOver; at++) {
    await pause(100 + 200 * chance());
    if (chance() < restarts / (kills + restarts) && counts.restarts < restarts) {
      counts.restarts++;
      database.stopNow();
      await pause(1000 * chance());
      database.start();
    } else {
      const [first] = [...alive].sort(() => chance() - 0.5);
      if (first?.kill("SIGKILL")) counts.kills++;
    }
  }
};
console.log(
  `a ledger in PostgreSQL, ${uploaders} uploaders, ${groups} groups in requests of ${perRequest}, seed ${seed}, Node ${process.version}`,
);
const troubled = trouble();
await Promise.all(Array.from({ length: uploaders }, uploader));
isOver = true;
await troubled;
console.log(`${Math.round((Date.now() - started) / 1000)} s: ${JSON.stringify(counts)}`);

// The groups of killed runs stay reserved until their leases expire.
await pause(16_000);
const listed = await run(["ledger", "status", "--json"], database.port);
const { entries } = JSON.parse(listed.stdout);
const open = entries.filter(({ state }) => state === "unknown" || state === "trying");
const verified = await run(["ledger", "verify", file, "--json"], database.port);
const ledger = JSON.parse(verified.stdout).groups;
const unlogged = Array.from({ length: groups }, (_, at) => at).filter((at) => !service.taken.has(at)).length;
const twice = [...service.taken.values()].filter((times) => times > 1).length;
console.log(
  `ledger: ${JSON.stringify(ledger)}; ${open.length} requests unknown; the service lacks ${unlogged} groups, has ${twice} twice`,
);
const isWrong = twice > 0 || unlogged > ledger.unknown || ledger.not_sent > 0 || ledger.repeated > 0;
network.close();
service.close();
database.stop();
rmSync(folder, { recursive: true, force: true });
console.log(isWrong ? "FAILED" : "none lost, none twice; what is unknown is named");
process.exit(isWrong ? 1 : 0);
