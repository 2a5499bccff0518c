import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { idsOf, newDataDir, openTestService, request, trajectory } from "./open.ts";

const airline = (): string => {
  const groups = readFileSync("test/samples/airline.groups.jsonl", "utf8").trim().split("\n");
  return `{"split":"train","trajectory_groups":[${groups.join(",")}]}`;
};

describe("the service's log operation (interface 4.1)", () => {
  it("answers with the metrics, and one call id per trajectory in order", async () => {
    const service = await openTestService();
    const logged = await service.log(airline(), { model: "gpt-4o" });
    expect(logged.status).toBe(200);
    expect(logged.headers.get("content-type")).toBe("application/json");
    expect(logged.body.metrics).toEqual({
      "train/reward": 0.25,
      "train/reward_std_dev": 0.22320508075688772,
      "train/exception_rate": 0,
      "train/num_messages": expect.any(Number),
      "train/num_tool_calls": expect.any(Number),
      "train/user_cost": 0.002866753246753247,
      "data/step_num_scenarios": 20,
      "data/step_num_trajectories": 80,
      "data/step_num_groups_submitted": 20,
      "data/step_num_groups_trainable": 10,
    });
    const ids = idsOf(logged);
    expect(ids).toHaveLength(80);
    expect(new Set(ids).size).toBe(80);
    expect(ids.toSorted()).toEqual(ids);
    const fifth = await service.read(ids[4] ?? "");
    expect(fifth.body.call).toMatchObject({
      attributes: { group: 1, trajectory: 0, metadata: { task_id: 1, trial: 0 } },
    });
  });

  it("answers with UUIDs of version 7 that contain the time", async () => {
    const service = await openTestService();
    const [id = ""] = idsOf(await service.log(request(trajectory(1))));
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16)).toBe(Date.UTC(2025, 10, 1, 9, 30));
  });

  it("answers with ordered ids for more calls than one millisecond can count", async () => {
    const service = await openTestService();
    const ids = idsOf(await service.log(request(...Array.from({ length: 5000 }, () => trajectory(0)))));
    expect(new Set(ids).size).toBe(5000);
    expect(ids.toSorted()).toEqual(ids);
    for (const trajectory of [4095, 4096, 4999])
      expect((await service.read(ids[trajectory] ?? "")).body.call).toMatchObject({ attributes: { trajectory } });
    // The clock stands still, but a later request has greater ids.
    const next = [await service.log(request(trajectory(1))), await service.log(request(trajectory(1)))].flatMap(idsOf);
    expect([...ids, ...next].toSorted()).toEqual([...ids, ...next]);
  });

  it("keeps acknowledged calls after a restart", async () => {
    const dataDir = newDataDir();
    const before = await openTestService({ dataDir });
    const [id = ""] = idsOf(await before.log(request(trajectory(0.5))));
    await before.service.close();
    const after = await openTestService({ dataDir });
    expect(after.key).toBe(before.key);
    expect((await after.read(id)).body.call).toMatchObject({ id, attributes: { reward: 0.5 } });
  });
});

describe("an Idempotency-Key", () => {
  it("gets an equal answer after a restart", async () => {
    const dataDir = newDataDir();
    const headers = { "Idempotency-Key": "k".repeat(255) };
    const before = await openTestService({ dataDir });
    const first = await before.log(request(trajectory(1)), { headers });
    await before.service.close();
    const after = await openTestService({ dataDir });
    expect(await after.log(request(trajectory(1)), { headers })).toMatchObject({ status: 200, text: first.text });
  });

  it("is refused for the same body and another model", async () => {
    const service = await openTestService();
    const headers = { "Idempotency-Key": "key-1" };
    const body = request(trajectory(1));
    const [first, other] = [await service.log(body, { headers }), await service.log(body, { headers, model: "other" })];
    expect([first.status, other.status]).toEqual([200, 422]);
  });
});

describe("the service's storage of names", () => {
  const expectSplitKept = async (split: string): Promise<void> => {
    const service = await openTestService();
    const logged = await service.log({ split, trajectory_groups: [{ trajectories: [trajectory(1)] }] });
    expect(logged.body.metrics).toMatchObject({ [`${split}/reward`]: 1 });
    const [id = ""] = idsOf(logged);
    expect((await service.read(id)).body.call).toMatchObject({ attributes: { split } });
  };

  it.each<[what: string, text: string]>([
    ["a NUL", "a\u0000b"],
    ["an emoji", "🎲"],
    ["quotes and control characters", '"\\\n\u001b[31m'],
    ["a bidi override", "\u202eabc"],
    ["the name __proto__", "__proto__"],
    ["100,000 letters", "x".repeat(100_000)],
  ])("keeps a split with %s", async (_what, split) => await expectSplitKept(split));
  it("keeps a split with 2 MB", { tags: "slow" }, async () => await expectSplitKept("x".repeat(2_000_000)));
});

describe("the service under concurrent log requests", () => {
  it("stores each request once, and answers each with its own calls", async () => {
    const service = await openTestService();
    const logged = await Promise.all(
      Array.from({ length: 30 }, (_, at) =>
        service.log(request(trajectory(at)), at % 10 === 0 ? { headers: { "Idempotency-Key": "one" } } : {}),
      ),
    );
    const keyed = logged.filter((_, at) => at % 10 === 0);
    expect(keyed.map(({ status }) => status).sort()).toEqual([200, 422, 422]);
    const others = logged.filter((_, at) => at % 10 !== 0);
    expect(new Set(others.flatMap(idsOf)).size).toBe(27);
    for (const [at, one] of logged.entries()) {
      if (one.status !== 200) continue;
      const [id = ""] = idsOf(one);
      expect([at, JSON.stringify((await service.read(id)).body)]).toEqual([
        at,
        expect.stringContaining(`"reward":${at}`),
      ]);
    }
  });
});
