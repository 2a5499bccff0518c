/**
 * Kills `rollcall log` at random times and counts the groups that arrived:
 *   node bench/kill.js [rounds] [seed] [--follow | --local | --serve]
 * A service that echoes `Idempotency-Key` must have each group exactly once without help. A service that echoes no key
 * must have each group once after the unknown requests of the ledger are resolved. A third trial converts rows of
 * another tool. With `--follow`, the killed runs follow a growing file, which is renamed in the middle of a line.
 * With `--local`, the killed runs log to a store. With `--serve`, the local service is killed and started again while
 * runs log to it. The store, read without rollcall, must have each group exactly once.
 */
import { closeSync, existsSync, mkdtempSync, openSync, renameSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import Connection from "libsql";
import { randomFrom } from "./input.js";
import { openCountingService, pause, runRollcall, startService } from "./rounds.js";

const isGiven = { type: "boolean" };
const options = { follow: isGiven, local: isGiven, serve: isGiven };
const { values, positionals } = parseArgs({ options, allowPositionals: true });
const rounds = Number(positionals[0] ?? 200);
const seed = Number(positionals[1] ?? Date.now() % 1_000_000);

/** Groups of a round, each in its own request, and the maximum number of kills. */
const groupsOfRound = 6;
const killsOfRound = 3;
/** Maximum delay before the service logs a request, and before it answers the request. */
const slownessMs = 60;

/** Runs rollcall, and sends a signal when the promise `after` resolves. */
const run = async (args, env, { after, signal = "SIGKILL" } = {}) => {
  let ended = false;
  const onStart = (child) => after?.then(() => ended || child.kill(signal));
  return await runRollcall(args, { env, onStart }).finally(() => {
    ended = true;
  });
};

/** Runs all rounds against one kind of service, with one kind of lines. Returns the counts. */
const trial = async (echoes, kind) => {
  const chance = randomFrom(seed + (echoes ? 1 : 0) + (kind === rows ? 2 : 0));
  const folder = mkdtempSync(join(tmpdir(), "kill-"));
  const service = await openCountingService({ slownessMs, chance, echoes });
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    ROLLCALL_CONFIG_DIR: join(folder, "config"),
    ROLLCALL_DATA_DIR: join(folder, "data"),
    ROLLCALL_BASE_URL: service.url,
    ROLLCALL_TOKEN: "key",
  };
  const counts = { rounds, kills: 0, unknown: 0, twice: 0, lost: 0, altered: 0, unnamed: 0, wrong: 0 };
  const file = join(folder, "groups.jsonl");
  const words = ["--split", "train", "--json", "--max-request-size", String(kind.requestBytes)];
  const log = (...files) => ["log", "m", ...files, ...words];
  // The first run learns whether the service echoes keys. The second run measures the duration.
  writeFileSync(file, Array.from({ length: groupsOfRound }, (_, at) => kind.linesOf(at / 10, at)).join(""));
  await run(log(file), env);
  const started = Date.now();
  await run([...log(file), "--resend-logged"], env);
  const lifeMs = Date.now() - started;
  for (let round = 1; round <= rounds; round++) {
    const rewards = Array.from({ length: groupsOfRound }, (_, at) => round * 100 + at);
    const texts = rewards.map((reward, at) => kind.linesOf(reward, at));
    const batch = ["--batch", `round-${round}`];
    const files = kind.isFollowed ? [join(folder, `${round}.old.jsonl`), join(folder, `${round}.jsonl`)] : [file];
    if (kind.isFollowed) counts.kills += await followAndKill({ files, texts, log, batch, env, chance, lifeMs });
    else {
      writeFileSync(file, texts.join(""));
      for (let kill = 0; kill < killsOfRound; kill++) {
        const { code } = await run([...log(file), ...batch], env, { after: pause(chance() * lifeMs) });
        if (code !== null) break;
        counts.kills++;
      }
    }
    // The service may still process a request of a killed run.
    await pause(2 * slownessMs);
    const own = [...log(...files.filter(existsSync)), ...batch];
    const last = await run(own, env);
    await resolveUnknown({ own, env, round, rewards, last, service, counts, echoes, kind });
    countGroups(counts, { rewards, kind, service });
  }
  service.close();
  rmSync(folder, { recursive: true, force: true });
  return counts;
};

const countGroups = (counts, { rewards, kind, service: { taken, texts } }) => {
  for (const [at, reward] of rewards.entries()) {
    const times = taken.get(reward) ?? 0;
    if (times > 1) counts.twice++;
    if (times === 0) counts.lost++;
    else if (kind.groupOf && texts.get(reward) !== kind.groupOf(reward, at)) counts.altered++;
  }
};

/** Kills runs with `--local`, or the service of the runs. Returns the counts. */
const storeTrial = async (isServed) => {
  const chance = randomFrom(seed);
  const folder = mkdtempSync(join(tmpdir(), "kill-"));
  const local = { PATH: process.env.PATH, HOME: folder, ROLLCALL_DATA_DIR: join(folder, "data") };
  const start = async (port) => await startService({ ...local, ROLLCALL_LOCAL_KEY: "key" }, "--port", port);
  let service = isServed ? await start("0") : undefined;
  const url = service?.url;
  const env = url ? { ...local, ROLLCALL_BASE_URL: url, ROLLCALL_TOKEN: "key" } : local;
  const file = join(folder, "groups.jsonl");
  const words = ["log", "m", file, "--split", "train", "--json", "--max-request-size", String(groups.requestBytes)];
  const log = [...words, ...(isServed ? ["--max-wait", "60s"] : ["--local"])];
  const counts = { rounds, kills: 0, twice: 0, lost: 0, altered: 0, wrong: 0 };
  const linesOf = (round) => Array.from({ length: groupsOfRound }, (_, at) => groups.linesOf(round * 100 + at, at));
  let lifeMs = 0;
  for (let round = 0; round <= rounds; round++) {
    writeFileSync(file, linesOf(round).join(""));
    const own = [...log, "--batch", `round-${round}`];
    const started = Date.now();
    const running = service ? run(own, env) : undefined;
    for (let kill = 0; kill < killsOfRound && round > 0; kill++) {
      const after = pause(chance() * lifeMs);
      if (service) {
        await after;
        service.child.kill("SIGKILL");
        service = await start(new URL(url).port);
      } else if ((await run(own, env, { after })).code !== null) break;
      counts.kills++;
    }
    await running;
    const last = await run(own, env);
    if (last.code !== 0) process.stderr.write(`round ${round} ended with ${last.code}: ${last.stderr}\n`);
    if (last.code !== 0) counts.wrong++;
    if (round === 0) lifeMs = Date.now() - started;
  }
  service?.child.kill();
  const stored = readStore(join(folder, "data/local.db"));
  for (let round = 0; round <= rounds; round++) {
    const rewards = linesOf(round).map((_, at) => round * 100 + at);
    countGroups(counts, { rewards, kind: groups, service: stored });
  }
  rmSync(folder, { recursive: true, force: true });
  return counts;
};

/** Pieces from this number on are the positions of calls. */
const firstSpanPiece = 1024;

const readStore = (path) => {
  const [taken, texts, bodies] = [new Map(), new Map(), new Map()];
  const database = new Connection(path);
  const sql = `SELECT hex(logged) AS id, bytes FROM logged_body WHERE piece < ${firstSpanPiece} ORDER BY logged, piece`;
  for (const { id, bytes } of database.prepare(sql).all())
    bodies.set(id, `${bodies.get(id) ?? ""}${Buffer.from(bytes)}`);
  database.close();
  for (const group of [...bodies.values()].flatMap((body) => JSON.parse(body).trajectory_groups)) {
    const { reward } = group.trajectories[0];
    taken.set(reward, (taken.get(reward) ?? 0) + 1);
    texts.set(reward, JSON.stringify(group));
  }
  return { taken, texts };
};

/** Follows a growing file in several runs and kills all but the last. Returns the number of kills. */
const followAndKill = async ({ files: [old, file], texts, log, batch, env, chance, lifeMs }) => {
  const isSized = chance() < 0.5;
  const follow = [...log(file), ...batch, "--follow", "--every", "20ms", ...(isSized ? ["--group-size", "2"] : [])];
  const written = write({ old, file, texts, chance, ms: chance() * lifeMs * killsOfRound });
  let kills = 0;
  for (let kill = 0; kill < killsOfRound; kill++) {
    const { code } = await run(follow, env, { after: pause(chance() * lifeMs) });
    if (code === null) kills++;
  }
  await run(follow, env, { after: Promise.all([written, pause(chance() * 2 * lifeMs)]), signal: "SIGINT" });
  await written;
  return kills;
};

/** Writes groups in pieces for about `ms`. Most files are renamed in the middle of a line, and a new file follows. */
const write = async ({ old, file, texts, chance, ms }) => {
  const rotateAfter = Math.floor(chance() * texts.length);
  const pieces = texts.length * 2;
  let to = openSync(file, "a");
  for (const [at, text] of texts.entries()) {
    const cut = Math.floor(chance() * text.length);
    writeSync(to, text.slice(0, cut));
    await pause((chance() * 2 * ms) / pieces);
    // A new file without any line would be invalid.
    const isRotated = at === rotateAfter && at < texts.length - 1;
    if (isRotated) renameSync(file, old);
    writeSync(to, text.slice(cut));
    await pause((chance() * 2 * ms) / pieces);
    if (!isRotated) continue;
    closeSync(to);
    to = openSync(file, "a");
  }
  closeSync(to);
};

/** The reward identifies a group, and the number of bytes identifies the request of the group. */
const groups = {
  requestBytes: 150,
  linesOf: (reward, at) =>
    `{"trajectories":[{"messages_and_choices":[],"reward":${reward},"logs":["${"x".repeat(at)}"]}]}\n`,
  groupOf: (reward, at) => groups.linesOf(reward, at).trim(),
};

/** A group as a row of verifiers. */
const rows = {
  requestBytes: 150,
  linesOf: (reward, at) =>
    `{"example_id":${at},"prompt":"2+2?","completion":"${"x".repeat(at + 1)}","task":"t","reward":${reward}}\n`,
};

/** A group of two trajectories on two lines of a growing file. */
const trajectories = {
  isFollowed: true,
  requestBytes: 300,
  linesOf: (reward, at) =>
    [reward, reward + 0.5]
      .map(
        (own) =>
          `{"messages_and_choices":[],"reward":${own},"logs":["${"x".repeat(at)}"],"group_id":"g${Math.floor(own)}"}\n`,
      )
      .join(""),
  groupOf: (reward, at) => `{"trajectories":[${trajectories.linesOf(reward, at).trim().replace("\n", ",")}]}`,
};

/** Resolves unknown requests by what the service logged, and counts lost groups that the ledger does not name. */
const resolveUnknown = async ({ own, env, round, rewards, last, service, counts, echoes, kind }) => {
  if (last.code === 0) return;
  if (last.code !== 8 || echoes) {
    counts.wrong++;
    process.stderr.write(`round ${round} ended with ${last.code}: ${last.stderr}\n`);
    return;
  }
  const status = await run(["ledger", "status", "--json", "--batch", `round-${round}`], env);
  const unknown = JSON.parse(status.stdout).entries.filter(({ state }) => state === "unknown");
  counts.unknown += unknown.length;
  const bodyBytes = (group) => `{"split":"train","trajectory_groups":[${group}]}`.length;
  const sizes = new Map(rewards.map((reward, at) => [bodyBytes(kind.groupOf(reward, at)), reward]));
  const named = new Set(unknown.map(({ bytes }) => sizes.get(bytes)));
  for (const reward of rewards) if (!service.taken.has(reward) && !named.has(reward)) counts.unnamed++;
  for (const { id, bytes } of unknown) {
    const how = service.taken.has(sizes.get(bytes)) ? "--assume-logged" : "--resend";
    const { code } = await run(["ledger", "resolve", id, how], env);
    if (code !== 0) counts.wrong++;
  }
  const rerun = await run(own, env);
  if (rerun.code !== 0) counts.wrong++;
};

console.log(`${rounds} rounds of ${groupsOfRound} groups, seed ${seed}, Node ${process.version}`);
const findTrials = () => {
  if (values.local) return { "store of --local": storeTrial(false) };
  if (values.serve) return { "store of serve": storeTrial(true) };
  if (values.follow) return { "echoes the key": trial(true, trajectories), "does not": trial(false, trajectories) };
  return {
    "echoes the key": trial(true, groups),
    "does not": trial(false, groups),
    "echoes it, converted": trial(true, rows),
  };
};
for (const [name, ended] of Object.entries(findTrials())) {
  const counts = await ended;
  console.log(`${`${name}:`.padEnd(22)}${JSON.stringify(counts)}`);
  if (counts.twice + counts.lost + (counts.unnamed ?? 0) + counts.altered + counts.wrong > 0) process.exitCode = 1;
}
