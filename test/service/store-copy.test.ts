/** A store that is copied to another place: the same calls byte for byte, each once, wherever the copy was cut off. */
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import Connection from "libsql";
import { describe, it, onTestFinished } from "vitest";
import { copyStore, openStore, storeIdentity } from "../../src/service/index.ts";
import { testHost } from "../support/host.ts";
import { newHome, runRollcall, startRollcall } from "../support/run.ts";
import { sharedBodies } from "./bodies.ts";
import { basic, idsOf, newDataDir, reply, request, running, trajectory } from "./open.ts";

const shared = sharedBodies().filter(({ skip }) => !skip);

const inFile = (): string => join(newDataDir(), "store.db");

/** Every kind that is there, from a file and to a file. */
const chain = [
  inFile,
  ...shared.map(
    ({ open }) =>
      async () =>
        (await open()).address,
  ),
  inFile,
];

const key = "a-key-of-this-service";
const env = { ...newHome(), ROLLCALL_LOCAL_KEY: key };
const copy = async (from: string, to: string) =>
  await runRollcall(["serve", "store", "copy", from, to, "--json"], { env });

/** `rollcall serve` on a store, in a process of its own. */
const serve = async (store: string) => {
  const child = startRollcall(["serve", "--port", "0", "--store", store], { env });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = await once(child.stderr, "data");
  const [url = ""] = /http:\S+/.exec(String(line)) ?? [];
  const post = async (path: string, authorization: string, body: unknown, headers: Record<string, string> = {}) =>
    await reply(`${url}${path}`, {
      method: "POST",
      headers: { Authorization: authorization, "Content-Type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
  return {
    log: (body: unknown, { model = "m", own }: { readonly model?: string; readonly own?: string } = {}) =>
      post(
        `/v1/preview/models/${model}/log`,
        `Bearer ${key}`,
        body,
        own === undefined ? {} : { "Idempotency-Key": own },
      ),
    read: (id: string) => post("/call/read", basic(key), { project_id: "local/local", id }),
    models: () => reply(`${url}/v1/models`, { headers: { Authorization: `Bearer ${key}` } }),
    stop: async () => {
      child.kill("SIGTERM");
      await once(child, "exit");
    },
  };
};

const keyed = { ...request(trajectory(0.1)), run: 5 };

/** Logs requests of every form; gives the identifiers of their calls. */
const fill = async (store: string, more = 0): Promise<readonly string[]> => {
  const service = await serve(store);
  const groups = [{ trajectories: [trajectory(1), trajectory(2)] }, { trajectories: [trajectory(3)], task: "\u0000t" }];
  const bodies = [
    { split: "val", trajectory_groups: groups, note: "é" },
    request(...[1, 2, 3].map((at) => trajectory(at, { logs: ["x".repeat(1_300_000)] }))),
    ...Array.from({ length: more }, (_, at) => request(trajectory(at, { logs: ["y".repeat(200_000)] }))),
  ];
  const replies = [await service.log(keyed, { own: "once" })];
  replies.push(await service.log({ split: "train", trajectory_groups: [] }, { own: "empty" }));
  for (const body of bodies) replies.push(await service.log(body, { model: "other" }));
  await service.stop();
  return replies.flatMap(idsOf);
};

/** All that a service on it answers. */
const told = async (store: string, ids: readonly string[]) => {
  const service = await serve(store);
  const answers = [(await service.models()).text];
  for (const id of ids) answers.push((await service.read(id)).text);
  answers.push((await service.log(keyed, { own: "once" })).text);
  answers.push((await service.log({ split: "train", trajectory_groups: [] }, { own: "empty" })).text);
  await service.stop();
  const keys = await runRollcall(["serve", "keys", "list", "--store", store, "--json"], { env });
  return { answers, keys: keys.stdout };
};

const placeAt = (path: string) => ({ dataDir: "", store: { path, password: undefined } });
const identityAt = async (path: string) => await storeIdentity(placeAt(path), { host: testHost() });
const openAt = async (path: string) => ({
  path,
  store: await openStore(placeAt(path), { host: testHost(), onAway: () => undefined }),
});

describe("a store that is copied", { timeout: 120_000 }, () => {
  it("is the same through every kind of place, and is copied once", async ({ expect }) => {
    const [first = "", ...others] = await Promise.all(chain.map(async (newPlace) => await newPlace()));
    const ids = await fill(first);
    for (const args of [
      ["add", "ann"],
      ["add", "bob", "--use", "log"],
      ["revoke", "bob"],
    ]) {
      const ran = await runRollcall(["serve", "keys", ...args, "--store", first], { env });
      expect(ran.code, ran.stderr).toBe(0);
    }
    // A request without a call had no row of its own there before.
    const early = new Connection(first);
    early.exec("DELETE FROM logged WHERE length(ids) = 0");
    early.close();
    const wanted = await told(first, ids);
    expect(ids).toHaveLength(7);
    const digests = new Set<string>();
    let from = first;
    for (const to of others) {
      for (const copied of [4, 0]) {
        const { code, stdout, stderr } = await copy(from, to);
        expect(code, stderr).toBe(0);
        expect(JSON.parse(stdout)).toMatchObject({ status: "copied", requests: 4, calls: 7, copied });
        digests.add(JSON.parse(stdout).digest);
      }
      expect(await told(to, ids)).toEqual(wanted);
      // Ledgers know it as the store that they logged to.
      expect(await identityAt(to)).toBe(await identityAt(first));
      from = to;
    }
    expect(digests.size).toBe(1);
    // What is logged to it then is taken back to the first.
    const service = await serve(from);
    const added = idsOf(await service.log(request(trajectory(9))));
    await service.stop();
    expect(JSON.parse((await copy(from, first)).stdout)).toMatchObject({ requests: 5, copied: 1 });
    expect(await told(first, added)).toEqual(await told(from, added));
  });

  it.for(chain.slice(1).map((newPlace, at) => [at, newPlace] as const))(
    "goes on where it was killed, to a place of kind %i",
    async ([, newPlace], { expect }) => {
      const [from, to] = [inFile(), await newPlace()];
      const ids = await fill(from, 100);
      for (const ms of [40, 120, 250]) {
        const child = startRollcall(["serve", "store", "copy", from, to], { env });
        const gone = once(child, "exit");
        // What is missing was counted: it is being written.
        await Promise.race([once(child.stderr, "data"), gone]);
        await setTimeout(ms);
        child.kill("SIGKILL");
        await gone;
      }
      const { code, stdout, stderr } = await copy(from, to);
      expect(code, stderr).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ requests: 104, calls: 107 });
      expect(await told(to, ids)).toEqual(await told(from, ids));
    },
  );

  it("goes on where it was ended between two writes", async ({ expect }) => {
    const [first, second] = [inFile(), inFile()];
    await fill(first, 100);
    const [from, to] = [await openAt(first), await openAt(second)];
    const ending = new AbortController();
    const { copying } = to.store;
    const take: typeof copying.take = async (requests) => {
      const kept = await copying.take(requests);
      ending.abort(new Error("ended"));
      return kept;
    };
    const once = { path: second, store: { ...to.store, copying: { ...copying, take } } };
    const told: number[] = [];
    const onMissing = (count: number) => void told.push(count);
    await expect(copyStore({ from, to: once }, { signal: ending.signal, onMissing })).rejects.toThrow("ended");
    await to.store.close();
    const again = await openAt(second);
    const rest = await copyStore({ from, to: again }, { signal: new AbortController().signal, onMissing });
    expect([told[0], rest.requests]).toEqual([104, 104]);
    expect([0 < rest.copied, rest.copied < 104, told[1]]).toEqual([true, true, rest.copied]);
    await Promise.all([from.store.close(), again.store.close()]);
  });

  it.for(shared)(
    "has each call in a file of those that services logged at once to $body",
    async ({ open }, { expect }) => {
      const [{ address: from }, to] = [await open(), inFile()];
      const host = { ...testHost(), now: () => Date.UTC(2025, 10, 1) };
      const services = [1, 2, 3].map(async () => await running({ host, store: { path: from, password: undefined } }));
      const many = request(...Array.from({ length: 20 }, (_, at) => trajectory(at)));
      const replies = (await Promise.all(services)).map(async ({ log }) => idsOf(await log(many)));
      const ids = (await Promise.all(replies)).flat();
      // All of them began in the same millisecond.
      expect(new Set(ids.map((id) => id.slice(0, 18))).size).toBe(20);
      const { code, stderr } = await copy(from, to);
      expect(code, stderr).toBe(0);
      const { read } = await running({ store: { path: to, password: undefined } });
      for (const [at, id] of ids.entries()) {
        expect((await read(id)).body.call).toMatchObject({ id, attributes: { reward: at % 20 } });
      }
    },
  );

  it("is refused where the other is another store, has something else, or there is none", async ({ expect }) => {
    const [from, to, copied] = [inFile(), inFile(), inFile()];
    await fill(from);
    await fill(to);
    const another = await copy(from, to);
    expect([another.code, another.stderr]).toEqual([10, expect.stringContaining("is another store")]);
    expect((await copy(from, copied)).code).toBe(0);
    for (const [at, store] of [from, copied].entries()) {
      const service = await serve(store);
      await service.log(request(trajectory(at)), { own: "both" });
      await service.stop();
    }
    const contradicts = await copy(from, copied);
    expect([contradicts.code, contradicts.stderr]).toEqual([10, expect.stringContaining("idempotency key both")]);
    const damaged = new Connection(copied);
    damaged.exec("UPDATE requests SET metrics = '{}' WHERE key LIKE '%once'");
    damaged.close();
    const { code, stderr } = await copy(from, copied);
    expect([code, stderr]).toEqual([10, expect.stringContaining("something else")]);
    expect((await copy(join(from, "..", "none.db"), to)).code).toBe(9);
  });

  it("is refused where an early rollcall gave each call an identifier of its own", async ({ expect }) => {
    const [from, to] = [inFile(), inFile()];
    await fill(from);
    const early = new Connection(from);
    early.exec("DELETE FROM logged WHERE request = (SELECT id FROM requests WHERE key LIKE '%once')");
    early.close();
    const { code, stderr } = await copy(from, to);
    expect([code, stderr]).toEqual([11, expect.stringContaining("1 request in")]);
  });
});
