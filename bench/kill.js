/**
 * Kills `rollcall log` at random moments, again and again, and counts what arrived:
 *   node bench/kill.js [rounds] [seed]
 * Against a service that echoes `Idempotency-Key` each group has to be there exactly once in the end, by rollcall alone; against
 * one that does not, never twice, none lost, and whatever is not known named by the ledger and settled by hand. The same
 * again of another tool's rows, which are converted on the way.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomFrom } from "./input.js";
import { openTaker, pause, runRollcall } from "./rounds.js";

const rounds = Number(process.argv[2] ?? 200);
const seed = Number(process.argv[3] ?? Date.now() % 1_000_000);

/** Groups of a round, each a request by itself, and kills of a round at most. */
const groupsOfRound = 6;
const killsOfRound = 3;
/** The service takes this long before it logs a request, and as long again before it answers. */
const slownessMs = 60;

/** Runs rollcall; killed after `killMs`, where it is still there. */
const run = async (args, env, killMs) => {
  let timer;
  const onStart = (child) => {
    if (killMs !== undefined) timer = setTimeout(() => child.kill("SIGKILL"), killMs);
  };
  return await runRollcall(args, { env, onStart }).finally(() => clearTimeout(timer));
};

/** All rounds against one kind of service, with files of such lines; gives what was counted. */
const trial = async (echoes, lineOf = groupOf) => {
  const chance = randomFrom(seed + (echoes ? 1 : 0) + (lineOf === groupOf ? 0 : 2));
  const folder = mkdtempSync(join(tmpdir(), "kill-"));
  const service = await openTaker({ slownessMs, chance, echoes });
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    ROLLCALL_CONFIG_DIR: join(folder, "config"),
    ROLLCALL_DATA_DIR: join(folder, "data"),
    ROLLCALL_BASE_URL: service.url,
    ROLLCALL_TOKEN: "key",
  };
  const counts = { rounds, kills: 0, unknown: 0, twice: 0, lost: 0, unnamed: 0, wrong: 0 };
  const file = join(folder, "groups.jsonl");
  const log = ["log", "m", file, "--split", "train", "--json", "--max-request-size", "150"];
  // What is known of an address is learnt from its first answers; and how long a run lasts that is left alone.
  writeFileSync(file, Array.from({ length: groupsOfRound }, (_, at) => lineOf(at / 10, at)).join(""));
  await run(log, env);
  const started = Date.now();
  await run([...log, "--resend-logged"], env);
  const lifeMs = Date.now() - started;
  for (let round = 1; round <= rounds; round++) {
    const rewards = Array.from({ length: groupsOfRound }, (_, at) => round * 100 + at);
    writeFileSync(file, rewards.map((reward, at) => lineOf(reward, at)).join(""));
    const own = [...log, "--batch", `round-${round}`];
    for (let kill = 0; kill < killsOfRound; kill++) {
      const { code } = await run(own, env, chance() * lifeMs);
      if (code !== null) break;
      counts.kills++;
    }
    // A killed run's request may still be on its way through the service.
    await pause(2 * slownessMs);
    const last = await run(own, env);
    await settle({ own, env, round, rewards, last, service, counts, echoes });
    for (const reward of rewards) {
      const times = service.taken.get(reward) ?? 0;
      if (times > 1) counts.twice++;
      if (times === 0) counts.lost++;
    }
  }
  service.close();
  rmSync(folder, { recursive: true, force: true });
  return counts;
};

/** A group that is known by its reward, and its request by the number of its bytes. */
const groupOf = (reward, at) =>
  `{"trajectories":[{"messages_and_choices":[],"reward":${reward},"logs":["${"x".repeat(at)}"]}]}\n`;

/** The same as a row of verifiers. */
const rowOf = (reward, at) =>
  `{"example_id":${at},"prompt":"2+2?","completion":"${"x".repeat(at + 1)}","task":"t","reward":${reward}}\n`;

/** Settles what is unknown by what the service really has, and holds the ledger's word against that. */
const settle = async ({ own, env, round, rewards, last, service, counts, echoes }) => {
  if (last.code === 0) return;
  if (last.code !== 8 || echoes) {
    counts.wrong++;
    process.stderr.write(`round ${round} ended with ${last.code}: ${last.stderr}\n`);
    return;
  }
  const status = await run(["ledger", "status", "--json", "--batch", `round-${round}`], env);
  const unknown = JSON.parse(status.stdout).entries.filter(({ state }) => state === "unknown");
  counts.unknown += unknown.length;
  const sizes = new Map(rewards.map((reward, at) => [bodyBytes(reward, at), reward]));
  const named = new Set(unknown.map(({ bytes }) => sizes.get(bytes)));
  for (const reward of rewards) if (!service.taken.has(reward) && !named.has(reward)) counts.unnamed++;
  for (const { id, bytes } of unknown) {
    const how = service.taken.has(sizes.get(bytes)) ? "--assume-logged" : "--resend";
    const { code } = await run(["ledger", "resolve", id, how], env);
    if (code !== 0) counts.wrong++;
  }
  const settled = await run(own, env);
  if (settled.code !== 0) counts.wrong++;
};

const bodyBytes = (reward, at) => `{"split":"train","trajectory_groups":[${groupOf(reward, at).trim()}]}`.length;

console.log(`${rounds} rounds of ${groupsOfRound} groups, seed ${seed}, Node ${process.version}`);
const trials = { "echoes the key": trial(true), "does not": trial(false), "echoes it, converted": trial(true, rowOf) };
for (const [name, ended] of Object.entries(trials)) {
  const counts = await ended;
  console.log(`${`${name}:`.padEnd(22)}${JSON.stringify(counts)}`);
  if (counts.twice + counts.lost + counts.unnamed + counts.wrong > 0) process.exitCode = 1;
}
