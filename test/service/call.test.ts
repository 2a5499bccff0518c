import { describe, expect, it } from "vitest";
import { idsOf, request, running, trajectory } from "./open.ts";

/** Every field of interface 2.4 except the two sizes, which need an option. */
const fields = [
  "id",
  "project_id",
  "op_name",
  "display_name",
  "trace_id",
  "parent_id",
  "thread_id",
  "turn_id",
  "started_at",
  "ended_at",
  "exception",
  "attributes",
  "inputs",
  "output",
  "summary",
  "vendor_user_id",
  "vendor_username",
  "vendor_run_id",
  "vendor_run_step",
  "vendor_run_step_end",
  "deleted_at",
];

const system = { role: "system", content: "be brief" };
const user = { role: "user", content: "hello" };
const assistant = { role: "assistant", content: "hi" };
const choice = { finish_reason: "stop", index: 0, message: { role: "assistant", content: "hi" }, logprobs: null };

describe("the service's read operation (interface 4.3)", () => {
  it("returns a logged trajectory with every field of the interface", async () => {
    const service = await running();
    const [id = ""] = idsOf(await service.log(request(trajectory(1)), { model: "org/model a" }));
    const read = await service.read(id);
    expect(read.status).toBe(200);
    expect(Object.keys(read.body)).toEqual(["call"]);
    const { call } = read.body;
    expect(Object.keys(Object(call)).toSorted()).toEqual(fields.toSorted());
    expect(call).toMatchObject({
      id,
      project_id: "local/local",
      op_name: expect.stringMatching(/^vendor:\/\/\/local\/local\/op\/rollcall\.log:[\w-]+$/),
      trace_id: id,
      parent_id: null,
      started_at: "2025-11-01T09:30:00.000Z",
      ended_at: "2025-11-01T09:30:00.000Z",
      exception: null,
      attributes: { split: "train", reward: 1, group: 0, trajectory: 0 },
      inputs: { model: "org/model a", messages: [user] },
      output: {
        object: "chat.completion",
        model: "org/model a",
        choices: [{ index: 0, message: assistant }],
      },
      deleted_at: null,
    });
  });

  it("gives the last choice of the trajectory as the output", async () => {
    const service = await running();
    const own = trajectory(1, { messages_and_choices: [system, user, choice] });
    const [id = ""] = idsOf(await service.log(request(own)));
    expect((await service.read(id)).body.call).toMatchObject({
      inputs: { messages: [system, user] },
      output: { choices: [choice] },
    });
  });

  it("gives earlier choices as messages, and the whole choices as an attribute", async () => {
    const service = await running();
    const own = trajectory(1, { messages_and_choices: [user, choice, user, assistant] });
    const [id = ""] = idsOf(await service.log(request(own)));
    expect((await service.read(id)).body.call).toMatchObject({
      attributes: { choices: [choice] },
      inputs: { messages: [user, assistant, user] },
      output: { choices: [{ index: 0, message: assistant }] },
    });
  });

  it("gives no output if the last message is not the model's", async () => {
    const service = await running();
    const own = trajectory(1, { messages_and_choices: [user, assistant, user, "odd", 7] });
    const [id = ""] = idsOf(await service.log(request(own)));
    expect((await service.read(id)).body.call).toMatchObject({
      inputs: { messages: [user, assistant, user, "odd", 7] },
      output: null,
    });
  });

  it("gives every other logged field", async () => {
    const service = await running();
    const tools = [{ type: "function", function: { name: "f" } }];
    const histories = [{ messages_and_choices: [user] }];
    const own = trajectory(0.5, {
      tools,
      additional_histories: histories,
      initial_policy_version: 3,
      final_policy_version: 4,
      metrics: { turns: 2 },
      metadata: { task: "a" },
      logs: ["one"],
      start_time: "2025-10-31T23:59:59+02:00",
      group_id: "g",
      usage: { prompt_tokens: 5, completion_tokens: 6, total_tokens: 11 },
    });
    const body = { split: "val", trajectory_groups: [{ trajectories: [own], step: 9 }], client: "x" };
    const [id = ""] = idsOf(await service.log(body));
    expect((await service.read(id)).body.call).toMatchObject({
      started_at: "2025-10-31T23:59:59+02:00",
      attributes: {
        split: "val",
        reward: 0.5,
        initial_policy_version: 3,
        final_policy_version: 4,
        metrics: { turns: 2 },
        metadata: { task: "a" },
        logs: ["one"],
        start_time: "2025-10-31T23:59:59+02:00",
        other: { group_id: "g" },
        group_other: { step: 9 },
        request_other: { client: "x" },
      },
      inputs: { tools, additional_histories: histories },
      summary: { usage: { m: { prompt_tokens: 5, completion_tokens: 6, total_tokens: 11 } } },
    });
  });

  it("keeps digits, spellings and order of the logged JSON", async () => {
    const service = await running();
    const metadata = '{"seed":9223372036854775807,"b":1.10,"a":1E400,"a":"\\u00e9\\/","10":1,"9":2}';
    const messages =
      '[{"role":"user","content":"\\ud800 lone"},{"content":"hi","role":"assistant","id":12345678901234567890}]';
    const text = `{"split":"a","trajectory_groups":[{"trajectories":[{"messages_and_choices":${messages},"reward":1.50,"metadata":${metadata},"zz":-0.0}]}]}`;
    const [id = ""] = idsOf(await service.log(text));
    const read = (await service.read(id)).text;
    expect(read).toContain(metadata);
    expect(read).toContain('"reward":1.50');
    expect(read).toContain('{"role":"user","content":"\\ud800 lone"}');
    expect(read).toContain('{"content":"hi","role":"assistant","id":12345678901234567890}');
    expect(read).toContain('"zz":-0.0');
  });

  it("gives sizes and costs only on request", async () => {
    const service = await running();
    const own = trajectory(1);
    const [id = ""] = idsOf(await service.log(request(own)));
    const size = JSON.stringify(own).length;
    const plain = Object((await service.read(id)).body.call);
    expect(plain).not.toHaveProperty("storage_size_bytes");
    expect(plain).not.toHaveProperty("total_storage_size_bytes");
    expect(plain.summary).not.toHaveProperty("costs");
    const asked = await service.read(id, {
      include_costs: true,
      include_storage_size: true,
      include_total_storage_size: true,
    });
    expect(asked.body.call).toMatchObject({
      storage_size_bytes: size,
      total_storage_size_bytes: size,
      summary: { costs: {} },
    });
  });

  it("returns null for an unknown call and for a call of another project", async () => {
    const service = await running();
    const [id = ""] = idsOf(await service.log(request(trajectory(1))));
    expect(await service.read("01a1f80e-687a-7000-b522-d4a3d889031f")).toMatchObject({
      status: 200,
      text: '{"call":null}',
    });
    expect((await service.read(id, { project_id: "other/project" })).text).toBe('{"call":null}');
  });

  it("returns calls of the project that the service records in", async () => {
    const service = await running({ project: "team/one" });
    const [id = ""] = idsOf(await service.log(request(trajectory(1))));
    expect((await service.read(id, { project_id: "team/one" })).body.call).toMatchObject({
      id,
      project_id: "team/one",
      op_name: expect.stringContaining("vendor:///team/one/op/rollcall.log:"),
    });
  });

  it.each<[what: string, more: Record<string, unknown>, reason: string]>([
    ["an id that is a number", { id: 7 }, "body.id: Input should be a valid string"],
    ["no project", { project_id: undefined }, "body.project_id: Field required"],
    ["a boolean as text", { include_costs: "yes" }, "body.include_costs: Input should be a valid boolean"],
    ["an unknown field", { include_everything: true }, "body.include_everything: Extra inputs are not permitted"],
  ])("refuses %s with a reason", async (_what, more, reason) => {
    const service = await running();
    const refused = await service.read("x", more);
    expect(refused.status).toBe(422);
    expect(refused.body).toEqual({ reason });
  });
});
