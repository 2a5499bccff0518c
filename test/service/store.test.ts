/** The store of the service: bodies longer than a stored piece, and ids if the clock runs backwards. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import Connection from "libsql";
import { describe, expect, it } from "vitest";
import { testHost } from "../support/host.ts";
import { basic, idsOf, newDataDir, openTestService, reply, request, trajectory } from "./open.ts";

const once = { "Idempotency-Key": "once" };

/** Repeats a log request with one key until an answer, because a busy database can be too late. */
const loggedOnce = async (
  service: Awaited<ReturnType<typeof openTestService>>,
  body: object,
): ReturnType<typeof reply> => {
  const answer = await service.log(body, { headers: once });
  return answer.status >= 500 ? await loggedOnce(service, body) : answer;
};

const countCalls = (dataDir: string) => {
  const database = new Connection(join(dataDir, "local.db"));
  const { calls } = database.prepare("SELECT sum(calls) AS calls FROM logged").get() as { calls: number };
  database.close();
  return calls;
};

describe("the store", () => {
  it("returns trajectories of any length, also longer than one stored piece", async () => {
    const service = await openTestService();
    const lengths = [10, 2 ** 20 - 300, 5, 2 ** 20, 2 ** 21 + 1, 1];
    const logs = lengths.map((length, at) => [String(at).repeat(length)]);
    const logged = await service.log(request(...logs.map((own, at) => trajectory(at, { logs: own }))));
    const ids = idsOf(logged);
    expect(ids).toHaveLength(lengths.length);
    for (const [at, id] of ids.entries()) {
      const { call } = (await service.read(id)).body as { call: { attributes: { logs: string[]; reward: number } } };
      expect(call.attributes.reward).toBe(at);
      expect(call.attributes.logs[0]).toBe(logs[at]?.[0]);
    }
  });

  it("gives increasing ids if the clock runs backwards, each for its own trajectory", async () => {
    let now = Date.UTC(2025, 10, 1);
    const service = await openTestService({
      host: { ...testHost(), now: () => (now -= 60_000) },
    });
    const ids: string[] = [];
    for (let round = 0; round < 4; round++) {
      const rewards = Array.from({ length: 5 }, (_, at) => trajectory(round * 10 + at));
      ids.push(...idsOf(await service.log(request(...rewards))));
    }
    expect(ids.toSorted()).toEqual(ids);
    for (const [at, id] of ids.entries()) {
      const reward = Math.floor(at / 5) * 10 + (at % 5);
      expect((await service.read(id)).body.call).toMatchObject({ id, attributes: { reward, trajectory: at % 5 } });
    }
  });

  it("has no call for an id that is similar to an existing one", async () => {
    const service = await openTestService();
    const [id = ""] = idsOf(await service.log(request(trajectory(1), trajectory(2))));
    const near = [
      `${id.slice(0, -1)}${id.endsWith("0") ? "1" : "0"}`,
      id.toUpperCase() === id ? `${id}0` : id.toUpperCase(),
      id.replaceAll("-", ""),
      "00000000-0000-7000-8000-000000000000",
      "ffffffff-ffff-7fff-bfff-ffffffffffff",
      "",
    ];
    for (const other of near) expect((await service.read(other)).body).not.toMatchObject({ call: { id: other } });
  });

  it("stores a long request once, without other pieces, if several services get it at once", async () => {
    const dataDir = newDataDir();
    const services = [await openTestService({ dataDir }), await openTestService({ dataDir })];
    const body = request(...[1, 2].map((at) => trajectory(at, { logs: [String(at).repeat(1_500_000)] })));
    const replies = await Promise.all([...services, ...services].map((service) => loggedOnce(service, body)));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
    expect(countCalls(dataDir)).toBe(2);
    const other = await services[1]?.log(request(trajectory(3)), { headers: once });
    expect(other).toMatchObject({ status: 422, body: { detail: [{ type: "idempotency_key_reused" }] } });
    const database = new Connection(join(dataDir, "local.db"));
    expect(database.prepare("SELECT count(DISTINCT logged) AS logged FROM logged_body").get()).toMatchObject({
      logged: 1,
    });
    database.close();
  });

  it("answers 503 with Retry-After and a warning if its file was overwritten", async () => {
    const service = await openTestService();
    writeFileSync(join(service.dataDir, "local.db"), "x".repeat(100_000));
    const { status, headers, body } = await service.log(request(trajectory(1)));
    expect([status, headers.get("retry-after"), body]).toEqual([
      ...[503, "5", { detail: "the store is unavailable, and nothing was stored" }],
    ]);
    expect(service.warnings).toMatchObject([
      { rule: "storage", severity: "warning", message: expect.stringMatching(/^cannot answer a request \(503\): /) },
    ]);
  });

  it("accepts 5 MB next to the trajectories, or refuses the request permanently", async () => {
    const service = await openTestService();
    const long = { ...request(trajectory(1)), note: "x".repeat(5_000_000) };
    const [few, much] = await Promise.all([service.log(request(trajectory(2))), service.log(long)]);
    expect([few?.status, much?.status]).toEqual([200, 200]);
    expect(service.warnings).toEqual([]);
  });

  it("returns equal calls, models and store ids to all services", async () => {
    const dataDir = newDataDir();
    const [one, other] = [await openTestService({ dataDir }), await openTestService({ dataDir })];
    expect(one.service.store).toBe(other.service.store);
    const group = { note: "\u0000 and \\ud800", trajectories: [trajectory(0.5)] };
    const [id = ""] = idsOf(
      await one.log({ split: "a\u0000b", run: 7, trajectory_groups: [{ trajectories: [] }, group] }),
    );
    const read = await other.read(id);
    expect(read).toEqual({ ...(await one.read(id)), headers: read.headers });
    expect(read.body.call).toMatchObject({
      attributes: {
        split: "a\u0000b",
        group: 1,
        trajectory: 0,
        group_other: { note: group.note },
        request_other: { run: 7 },
      },
    });
    const of = { method: "POST", headers: { Authorization: basic(other.key), "Content-Type": "application/json" } };
    const elsewhere = await reply(`${other.url}/call/read`, {
      ...of,
      body: JSON.stringify({ project_id: "a/b", id }),
    });
    expect(elsewhere.body).toEqual({ call: null });
    const models = await reply(`${other.url}/v1/models`, { headers: { Authorization: `Bearer ${other.key}` } });
    expect(models.body.data).toMatchObject([{ id: "m", owned_by: "local" }]);
  });

  it("separates two projects by Idempotency-Key and call, and lists a model with its first project", async () => {
    let now = 5_000_000;
    const host = { ...testHost(), now: () => (now += 60_000) };
    const shared = { dataDir: newDataDir(), host };
    const one = await openTestService({ ...shared, project: "a/b" });
    const other = await openTestService({ ...shared, project: "c/d" });
    const [first, second] = [
      await one.log(request(trajectory(1)), { headers: once }),
      await other.log(request(trajectory(1)), { headers: once }),
    ];
    const [[id = ""], [otherId = ""]] = [idsOf(first), idsOf(second)];
    expect(otherId).not.toBe(id);
    expect((await one.log(request(trajectory(1)), { headers: once })).text).toBe(first.text);
    expect((await other.read(id, { project_id: "a/b" })).body).toMatchObject({ call: { id } });
    expect((await other.read(id, { project_id: "c/d" })).body).toEqual({ call: null });
    const models = await reply(`${other.url}/v1/models`, { headers: { Authorization: `Bearer ${other.key}` } });
    expect(models.body.data).toMatchObject([{ id: "m", owned_by: "a", created: 5060 }]);
  });

  it("returns each call of several groups and models with its own position, keys and time", async () => {
    let now = 7_000_000;
    const service = await openTestService({ host: { ...testHost(), now: () => now } });
    const groups = [
      { trajectories: [trajectory(1), trajectory(2)], note: "first" },
      { trajectories: [] },
      { trajectories: [trajectory(3)] },
      { trajectories: [trajectory(4), trajectory(5)], note: "last", exceptions: [] },
    ];
    const body = { step: 8, split: "eval", trajectory_groups: groups, run: "r" };
    const logged = await service.log(body, { model: "z" });
    now += 3_600_000;
    await service.log(request(trajectory(6)), { model: "a/b" });
    now += 3_600_000;
    await service.log(request(trajectory(6)), { model: "z" });
    const calls = await Promise.all(idsOf(logged).map(async (id) => (await service.read(id)).body.call));
    const request_other = { step: 8, run: "r" };
    const [first, last] = [{ note: "first" }, { note: "last", exceptions: [] }];
    expect(calls).toMatchObject([
      { attributes: { reward: 1, group: 0, trajectory: 0, group_other: first, split: "eval", request_other } },
      { attributes: { reward: 2, group: 0, trajectory: 1, group_other: first, split: "eval", request_other } },
      { attributes: { reward: 3, group: 2, trajectory: 0, split: "eval", request_other } },
      { attributes: { reward: 4, group: 3, trajectory: 0, group_other: last, split: "eval", request_other } },
      { attributes: { reward: 5, group: 3, trajectory: 1, group_other: last, split: "eval", request_other } },
    ]);
    const models = await reply(`${service.url}/v1/models`, { headers: { Authorization: `Bearer ${service.key}` } });
    expect(models.body.data).toMatchObject([
      { id: "a/b", owned_by: "local", created: 10_600 },
      { id: "z", owned_by: "local", created: 7000 },
    ]);
  });
});
