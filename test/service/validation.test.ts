import { describe, expect, it } from "vitest";
import { request, running, trajectory } from "./open.ts";

const missing = (loc: readonly unknown[], input: unknown) => ({ loc, msg: "Field required", type: "missing", input });

const listWanted = { msg: "Input should be a valid list", type: "list_type" };
const numberWanted = { msg: "Input should be a valid number", type: "float_type" };
const integerWanted = { msg: "Input should be a valid integer", type: "int_type" };
const dictionaryWanted = { msg: "Input should be a valid dictionary", type: "dict_type" };

const at = (...rest: readonly string[]) => ["body", "trajectory_groups", "0", "trajectories", "0", ...rest];

describe("the validation of a log request (interface 7)", () => {
  it.each<[what: string, body: unknown, detail: readonly unknown[]]>([
    ["an empty object", {}, [missing(["body", "split"], {}), missing(["body", "trajectory_groups"], {})]],
    [
      "a split that is a number",
      { split: 7, trajectory_groups: [] },
      [{ loc: ["body", "split"], msg: "Input should be a valid string", type: "string_type", input: 7 }],
    ],
    [
      "groups that are an object",
      { split: "a", trajectory_groups: {} },
      [{ loc: ["body", "trajectory_groups"], ...listWanted, input: {} }],
    ],
    [
      "a group that is null",
      { split: "a", trajectory_groups: [null] },
      [{ loc: ["body", "trajectory_groups", "0"], ...dictionaryWanted, input: null }],
    ],
    ["a list", [], [{ loc: ["body"], ...dictionaryWanted, input: [] }]],
    ["null", null, [{ loc: ["body"], ...dictionaryWanted, input: null }]],
    [
      "a trajectory without what it must have",
      request({ metrics: {} }),
      [missing(at("messages_and_choices"), { metrics: {} }), missing(at("reward"), { metrics: {} })],
    ],
    [
      "a reward that is null",
      request(trajectory(0, { reward: null })),
      [{ loc: at("reward"), ...numberWanted, input: null }],
    ],
    [
      "a reward that is true",
      request(trajectory(0, { reward: true })),
      [{ loc: at("reward"), ...numberWanted, input: true }],
    ],
    [
      "a reward in quotes",
      request(trajectory(0, { reward: "0.5" })),
      [{ loc: at("reward"), ...numberWanted, input: "0.5" }],
    ],
    [
      "a reward in words",
      request(trajectory(0, { reward: "good" })),
      [{ loc: at("reward"), ...numberWanted, input: "good" }],
    ],
    [
      "policy versions that are not integers",
      request(trajectory(0, { initial_policy_version: 1.5, final_policy_version: "two" })),
      [
        { loc: at("initial_policy_version"), ...integerWanted, input: 1.5 },
        { loc: at("final_policy_version"), ...integerWanted, input: "two" },
      ],
    ],
    [
      "metrics that are a list",
      request(trajectory(0, { metrics: [] })),
      [{ loc: at("metrics"), ...dictionaryWanted, input: [] }],
    ],
    [
      "metadata that is text",
      request(trajectory(0, { metadata: "x" })),
      [{ loc: at("metadata"), ...dictionaryWanted, input: "x" }],
    ],
    ["logs that are text", request(trajectory(0, { logs: "x" })), [{ loc: at("logs"), ...listWanted, input: "x" }]],
    [
      "a start that is a number",
      request(trajectory(0, { start_time: 5 })),
      [{ loc: at("start_time"), msg: "Input should be a valid string", type: "string_type", input: 5 }],
    ],
    [
      "a tool without a function, and a strict that is not a boolean",
      request(
        trajectory(0, { tools: [{ type: "function" }, { type: "function", function: { name: "f", strict: "yes" } }] }),
      ),
      [
        missing(at("tools", "0", "function"), { type: "function" }),
        {
          loc: at("tools", "1", "function", "strict"),
          msg: "Input should be a valid boolean",
          type: "bool_type",
          input: "yes",
        },
      ],
    ],
  ])("answers 422 for %s", async (_what, body, detail) => {
    const service = await running();
    const refused = await service.log(body);
    expect(refused.status).toBe(422);
    expect(refused.body).toEqual({ detail });
  });

  it.each<[text: string, position: number]>([
    ["{", 1],
    ['{"split":}', 9],
    ['{"split":"a" "b":1}', 13],
    ['{"a":"b', 7],
    ['{"a":"b\nc"}', 7],
    ["{} {}", 3],
    ['{"reward":NaN}', 10],
    ['{"😀":nope}', 5],
    ["\ufeff{}", 0],
  ])("says at which character %j stops being JSON", async (text, position) => {
    const service = await running();
    const refused = await service.log(text);
    expect(refused.status).toBe(422);
    expect(refused.body).toEqual({
      detail: [{ loc: ["body", String(position)], msg: "Invalid JSON", type: "json_invalid", input: null }],
    });
  });

  it("finds the fault after a string of megabytes", async () => {
    const service = await running();
    const refused = await service.log(`{"a":"${"x".repeat(5_000_000)}",}`);
    expect(refused.body).toMatchObject({ detail: [{ loc: ["body", "5000008"] }] });
  });

  it("answers 422 without a body", async () => {
    const service = await running();
    const refused = await service.log("");
    expect(refused.status).toBe(422);
    expect(refused.body).toEqual({ detail: [missing(["body"], null)] });
  });

  it("accepts a reward beyond a double, and omits it from the metrics", async () => {
    const service = await running();
    const logged = await service.log(
      '{"split":"a","trajectory_groups":[{"trajectories":[{"messages_and_choices":[],"reward":1e400}]}]}',
    );
    expect(logged.status).toBe(200);
    expect(logged.body).toMatchObject({ metrics: { "data/step_num_trajectories": 1 } });
  });

  it("accepts a policy version of 64 bits", async () => {
    const service = await running();
    const text =
      '{"split":"a","trajectory_groups":[{"trajectories":[{"messages_and_choices":[],"reward":1,"initial_policy_version":9223372036854775807}]}]}';
    expect((await service.log(text)).status).toBe(200);
  });

  it("omits the input from the answer if it is nested too deeply", async () => {
    const service = await running();
    const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
    const refused = await service.log(
      `{"split":"a","trajectory_groups":[{"trajectories":[{"messages_and_choices":[],"reward":${deep}}]}]}`,
    );
    expect(refused.status).toBe(422);
    expect(refused.body).toEqual({ detail: [{ loc: at("reward"), ...numberWanted, input: null }] });
  });

  it("answers 400 for bytes that are not UTF-8", async () => {
    const service = await running();
    const response = await fetch(`${service.url}/v1/preview/models/m/log`, {
      method: "POST",
      headers: { Authorization: `Bearer ${service.key}`, "Content-Type": "application/json" },
      body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({ detail: "There was an error parsing the body: it is not UTF-8" });
  });

  it("stores nothing of a request with one fault", async () => {
    const service = await running();
    await service.log(request(trajectory(1), trajectory(0, { reward: null })), { model: "never" });
    const listed = await fetch(`${service.url}/v1/models`, { headers: { Authorization: `Bearer ${service.key}` } });
    expect(await listed.json()).toEqual({ object: "list", data: [] });
  });
});
