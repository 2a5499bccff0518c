import { describe, expect, it } from "vitest";
import { idsOf, openTestService, request, trajectory } from "./open.ts";

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

const status_counts = { success: 1, error: 0 };
const user = { role: "user", content: "hello" };
const assistant = { role: "assistant", content: "hi" };

describe("the service's read operation (interface 4.3)", () => {
  it("returns a logged trajectory with every field of the interface", async () => {
    const service = await openTestService();
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
      output: assistant,
      deleted_at: null,
    });
  });

  it("returns a start_time that is null as the time of logging, and only a usage that is an object", async () => {
    const service = await openTestService();
    const message = { ...user, message: assistant };
    const odd = { messages_and_choices: [message], start_time: null, usage: 7 };
    const [first = "", second = ""] = idsOf(
      await service.log(request(trajectory(1, odd), trajectory(0, { usage: { total_tokens: 2 } }))),
    );
    expect((await service.read(first)).body.call).toMatchObject({
      started_at: "2025-11-01T09:30:00.000Z",
      inputs: { messages: [message] },
      output: null,
      summary: { status_counts },
    });
    expect(JSON.stringify((await service.read(first)).body)).not.toContain("usage");
    expect((await service.read(second)).body.call).toMatchObject({ summary: { usage: { m: { total_tokens: 2 } } } });
  });

  it("returns a last choice as a completion, earlier choices as attributes, and costs and sizes on demand", async () => {
    const service = await openTestService();
    const choice = (content: string) => ({ finish_reason: "stop", index: 0, message: { role: "assistant", content } });
    const [first, last] = [choice("one"), choice("two")];
    const own = { tools: [{ type: "function", function: { name: "f" } }], note: 7 };
    const logged = (turns: readonly unknown[]) => trajectory(1, { ...own, messages_and_choices: turns });
    const ids = idsOf(
      await service.log(
        request(logged([user, first, user, last]), logged([first, user]), logged([]), logged([user, assistant])),
      ),
    );
    const calls = await Promise.all(ids.map(async (id) => (await service.read(id)).body.call));
    const completion = { object: "chat.completion", model: "m", choices: [last] };
    const choices = [first];
    expect(calls).toMatchObject([
      {
        inputs: { messages: [user, first.message, user], tools: own.tools },
        output: completion,
        attributes: { choices },
      },
      { inputs: { messages: [first.message, user] }, output: null, attributes: { choices, other: { note: 7 } } },
      { inputs: { messages: [] }, output: null },
      { inputs: { messages: [user] }, output: assistant, display_name: "m (train)" },
    ]);
    for (const call of calls.slice(2)) expect(call).not.toHaveProperty("attributes.choices");
    const size = JSON.stringify(logged([])).length;
    const read = async (more: Record<string, unknown>) => (await service.read(ids[2] ?? "", more)).body.call;
    expect(await read({ include_costs: true })).toEqual({ ...Object(calls[2]), summary: { status_counts, costs: {} } });
    expect(await read({ include_storage_size: true })).toEqual({ ...Object(calls[2]), storage_size_bytes: size });
    expect(await read({ include_total_storage_size: true })).toEqual({
      ...Object(calls[2]),
      total_storage_size_bytes: size,
    });
  });
});
