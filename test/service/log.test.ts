import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { idsOf, newDataDir, request, running, trajectory } from "./open.ts";

const airline = (): string => {
  const groups = readFileSync("test/samples/airline.groups.jsonl", "utf8").trim().split("\n");
  return `{"split":"train","trajectory_groups":[${groups.join(",")}]}`;
};

describe("the service's log operation (interface 4.1)", () => {
  it("answers with the metrics, and one call id per trajectory in order", async () => {
    const service = await running();
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
    const service = await running();
    const [id = ""] = idsOf(await service.log(request(trajectory(1))));
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16)).toBe(Date.UTC(2025, 10, 1, 9, 30));
  });

  it("answers with ordered ids for more calls than one millisecond can count", async () => {
    const service = await running();
    const ids = idsOf(await service.log(request(...Array.from({ length: 5000 }, () => trajectory(0)))));
    expect(new Set(ids).size).toBe(5000);
    expect(ids.toSorted()).toEqual(ids);
  });

  it("accepts groups without trajectories, and requests without groups", async () => {
    const service = await running();
    const empty = await service.log({ split: "val", trajectory_groups: [] });
    expect(empty.body).toEqual({
      metrics: {
        "val/reward_std_dev": 0,
        "data/step_num_scenarios": 0,
        "data/step_num_trajectories": 0,
        "data/step_num_groups_submitted": 0,
      },
      call_ids: [],
    });
    expect(idsOf(await service.log(request()))).toEqual([]);
  });

  it("counts the exceptions of a group", async () => {
    const service = await running();
    const group = { trajectories: [trajectory(1)], exceptions: [{ message: "out of memory" }] };
    const logged = await service.log({ split: "train", trajectory_groups: [group] });
    expect(logged.body.metrics).toMatchObject({ "train/exception_rate": 0.5 });
  });

  it("counts the exceptions of a group in a request with a duplicate key", async () => {
    const service = await running();
    const group = JSON.stringify({
      trajectories: [trajectory(1)],
      exceptions: ["a", "b", "c"].map((message) => ({ message })),
    });
    const logged = await service.log(`{"run":1,"split":"train","trajectory_groups":[${group}],"run":2}`);
    expect(logged.body.metrics).toMatchObject({ "train/exception_rate": 0.75 });
  });

  it("keeps acknowledged calls over a restart", async () => {
    const dataDir = newDataDir();
    const before = await running({ dataDir });
    const [id = ""] = idsOf(await before.log(request(trajectory(0.5))));
    await before.service.close();
    const after = await running({ dataDir });
    expect(after.key).toBe(before.key);
    expect((await after.read(id)).body.call).toMatchObject({ id, attributes: { reward: 0.5 } });
  });

  const [one, two] = [1, 2].map((reward) => JSON.stringify(trajectory(reward)));
  it.each([
    [["split"], `{"split":"a","trajectory_groups":[{"trajectories":[${one}]}],"split":"b"}`],
    [["trajectory_groups"], `{"trajectory_groups":[],"split":"a","trajectory_groups":[{"trajectories":[${one}]}]}`],
    [
      ["trajectory_groups", "1", "trajectories"],
      `{"split":"a","trajectory_groups":[{"trajectories":[]},{"trajectories":[${one}],"trajectories":[${two}]}]}`,
    ],
  ])("refuses a duplicate key at %j, because one value would be lost", async (loc, text) => {
    const service = await running();
    const { status, body } = await service.log(text);
    const twice = { loc: ["body", ...loc], msg: "Key should occur once", type: "duplicate_key", input: null };
    expect([status, body]).toEqual([422, { detail: [twice] }]);
  });

  it("takes the last value of any other duplicate key", async () => {
    const service = await running();
    const text = `{"run":1,"split":"a","trajectory_groups":[{"trajectories":[${two}]}],"run":2}`;
    const [id = ""] = idsOf(await service.log(text));
    expect((await service.read(id)).body.call).toMatchObject({ attributes: { reward: 2 } });
  });
});

describe("an Idempotency-Key", () => {
  it("comes back in the answer, and a repeated request gets the same answer", async () => {
    const service = await running();
    const headers = { "Idempotency-Key": "key-1" };
    const first = await service.log(request(trajectory(1), trajectory(3)), { headers });
    const second = await service.log(request(trajectory(1), trajectory(3)), { headers });
    expect(first.headers.get("idempotency-key")).toBe("key-1");
    expect(second.headers.get("idempotency-key")).toBe("key-1");
    expect(second.text).toBe(first.text);
  });

  it("gets the same answer after a restart", async () => {
    const dataDir = newDataDir();
    const headers = { "Idempotency-Key": "key-1" };
    const before = await running({ dataDir });
    const first = await before.log(request(trajectory(1)), { headers });
    await before.service.close();
    const after = await running({ dataDir });
    expect((await after.log(request(trajectory(1)), { headers })).text).toBe(first.text);
  });

  it("logs once if the same request arrives many times at once", async () => {
    const service = await running();
    const headers = { "Idempotency-Key": "key-1" };
    const replies = await Promise.all(
      Array.from({ length: 12 }, async () => await service.log(request(trajectory(1)), { headers })),
    );
    expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
  });

  it.each([
    ["body", { body: request(trajectory(2)), model: "m" }],
    ["model", { body: request(trajectory(1)), model: "another" }],
  ])("gets a 422 if it is used again with another %s", async (_what, { body, model }) => {
    const service = await running();
    const headers = { "Idempotency-Key": "key-1" };
    await service.log(request(trajectory(1)), { headers });
    const refused = await service.log(body, { headers, model });
    expect(refused.status).toBe(422);
    expect(refused.headers.get("idempotency-key")).toBe("key-1");
    expect(refused.body).toEqual({
      detail: [
        {
          loc: ["header", "Idempotency-Key"],
          msg: "Idempotency-Key was used with another model or body",
          type: "idempotency_key_reused",
          input: "key-1",
        },
      ],
    });
  });

  it("can be used again after a refused request", async () => {
    const service = await running();
    const headers = { "Idempotency-Key": "key-1" };
    expect((await service.log({ split: "train" }, { headers })).status).toBe(422);
    expect((await service.log(request(trajectory(1)), { headers })).status).toBe(200);
  });

  it("does not appear in the answer if the request has none", async () => {
    const service = await running();
    expect((await service.log(request(trajectory(1)))).headers.has("idempotency-key")).toBe(false);
  });
});

describe("the service's storage of names", () => {
  const expectSplitKept = async (split: string): Promise<void> => {
    const service = await running();
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

  it.each(["a\u0000b", "🎲 %2F/..", "../../x", "a?b#c", '"', "é", "__proto__"])(
    "keeps the model name %j",
    async (model) => {
      const service = await running();
      const logged = await service.log(request(trajectory(1)), { model });
      expect(logged.status).toBe(200);
      const [id = ""] = idsOf(logged);
      expect((await service.read(id)).body.call).toMatchObject({ inputs: { model } });
    },
  );

  it("keeps a split with a lone surrogate", async () => {
    const service = await running();
    const [id = ""] = idsOf(
      await service.log(
        '{"split":"\\ud800","trajectory_groups":[{"trajectories":[{"messages_and_choices":[],"reward":1}]}]}',
      ),
    );
    expect((await service.read(id)).text).toContain('"split":"\\ud800"');
  });

  it.each(["yesterday", "2025", "2025-01-01 (\u0000)", "2025-13-45T00:00:00Z"])(
    "refuses the start_time %j",
    async (start) => {
      const service = await running();
      expect(await service.log(request(trajectory(1, { start_time: start })))).toMatchObject({
        status: 422,
        body: {
          detail: [
            {
              loc: ["body", "trajectory_groups", "0", "trajectories", "0", "start_time"],
              msg: "Input should be a valid datetime",
            },
          ],
        },
      });
    },
  );

  it("keeps odd names of metrics and unknown keys", async () => {
    const service = await running();
    const own = `{"messages_and_choices":[],"reward":1,"metrics":{"__proto__":3,"\\u0000":4,"":5,"7":6},"__proto__":{"a":1},"constructor":2}`;
    const logged = await service.log(
      `{"split":"s","trajectory_groups":[{"__proto__":8,"trajectories":[${own}]}],"__proto__":9}`,
    );
    expect(logged.status).toBe(200);
    expect(logged.text).toContain('"s/\\u0000":4');
    const [id = ""] = idsOf(logged);
    const read = (await service.read(id)).text;
    expect(read).toContain('"metrics":{"__proto__":3,"\\u0000":4,"":5,"7":6}');
    expect(read).toContain('"other":{"__proto__":{"a":1},"constructor":2}');
    expect(read).toContain('"group_other":{"__proto__":8}');
    expect(read).toContain('"request_other":{"__proto__":9}');
  });
});

describe("the service under concurrent log requests", () => {
  it("stores each request once, and answers each with its own calls", async () => {
    const service = await running();
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
