import { describe, expect, it } from "vitest";
import { openTestService, request, trajectory } from "./open.ts";

const at = (...rest: readonly string[]) => ["body", "trajectory_groups", "0", "trajectories", "0", ...rest];

// The other faults are in test/commands/golden/screens/service-answers.txt.
describe("the validation of a log request (interface 7)", () => {
  it.each<[text: string, position: number]>([
    ["{", 1],
    ['{"split":}', 9],
    ['{"split":"a" "b":1}', 13],
    ['{"a":"b', 7],
    ['{"a":"b\nc"}', 7],
    ["{} {}", 3],
    ['{"reward":NaN}', 10],
    ['{"😀":nope}', 8],
    ["\ufeff{}", 0],
  ])("gives the byte at which the body is no longer JSON (row %$)", async (text, position) => {
    const service = await openTestService();
    const refused = await service.log(text);
    expect(refused.status).toBe(422);
    expect(refused.body).toEqual({
      detail: [{ loc: ["body", String(position)], msg: "Invalid JSON", type: "json_invalid", input: null }],
    });
  });

  it("finds the fault after a string of megabytes", async () => {
    const service = await openTestService();
    const refused = await service.log(`{"a":"${"x".repeat(5_000_000)}",}`);
    expect(refused.body).toMatchObject({ detail: [{ loc: ["body", "5000008"] }] });
  });

  it("omits the input from the answer if it is nested too deeply", async () => {
    const service = await openTestService();
    const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
    const refused = await service.log(
      `{"split":"a","trajectory_groups":[{"trajectories":[{"messages_and_choices":[],"reward":${deep}}]}]}`,
    );
    expect(refused.status).toBe(422);
    expect(refused.body).toMatchObject({ detail: [{ loc: at("reward"), type: "invalid_type", input: null }] });
  });

  it.each([
    [4998, true],
    [4999, false],
  ])("repeats an invalid text only up to 5 kB: %i characters", async (length, isRepeated) => {
    const service = await openTestService();
    const reward = "x".repeat(length);
    const refused = await service.log(request(trajectory(1, { reward })));
    expect(refused.body).toMatchObject({ detail: [{ loc: at("reward"), input: isRepeated ? reward : null }] });
  });

  it("answers 400 for bytes that are not UTF-8", async () => {
    const service = await openTestService();
    const response = await fetch(`${service.url}/v1/preview/models/m/log`, {
      method: "POST",
      headers: { Authorization: `Bearer ${service.key}`, "Content-Type": "application/json" },
      body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({ detail: "There was an error parsing the body: it is not UTF-8" });
  });

  it("refuses a key that occurs twice, if its value is not stored as given", async () => {
    const service = await openTestService();
    const group = (keys: string) => `{"split":"a","trajectory_groups":[{"trajectories":[]},{${keys}}]}`;
    const [request, inGroup, other] = await Promise.all([
      service.log(`{"split":"a","split":"a","trajectory_groups":[],"trajectory_groups":[]}`),
      service.log(group('"trajectories":[],"trajectories":[]')),
      service.log(group('"trajectories":[],"note":1,"note":2')),
    ]);
    const fault = { msg: "Key should occur once", type: "duplicate_key", input: null };
    const twice = (...loc: readonly string[]) => ({ loc: ["body", ...loc], ...fault });
    expect(request?.body).toEqual({ detail: [twice("split"), twice("trajectory_groups")] });
    expect(inGroup?.body).toEqual({ detail: [twice("trajectory_groups", "1", "trajectories")] });
    expect(other?.status).toBe(200);
  });

  it.each([
    [255, 200],
    [256, 422],
  ])("limits the length of an Idempotency-Key: %i characters", async (length, status) => {
    const service = await openTestService();
    const headers = { "Idempotency-Key": "k".repeat(length) };
    const { status: actual, body } = await service.log(request(trajectory(1)), { headers });
    expect(actual).toBe(status);
    const msg = "String should have at most 255 characters";
    const fault = { loc: ["header", "Idempotency-Key"], msg, type: "string_too_long", input: "k".repeat(256) };
    if (status === 422) expect(body).toEqual({ detail: [fault] });
  });

  it("stores nothing of a request with a fault", async () => {
    const service = await openTestService();
    await service.log(request(trajectory(1), trajectory(0, { reward: null })), { model: "never" });
    const listed = await fetch(`${service.url}/v1/models`, { headers: { Authorization: `Bearer ${service.key}` } });
    expect(await listed.json()).toEqual({ object: "list", data: [] });
  });
});
