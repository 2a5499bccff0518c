import { describe, expect, it } from "vitest";
import { runHere } from "../../support/here.ts";
import { filesOf } from "../../support/inputs.ts";
import { newHome } from "../../support/run.ts";
import { json, scriptedServer } from "../../support/server.ts";

import { account, group, groups, log, none, parsed, sampleMetrics, two } from "./logging.ts";

describe("rollcall log", () => {
  it("prints a document, and the service's answer byte for byte", async () => {
    const body = '{"n":12345678901234567890,"x":1.0}';
    const { code, stdout, stderr } = await log([groups, "--split", "train", "--json", "--no-color"], [json(body)]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`"responses":[{"status":200,"body":${body}}]`);
    expect(parsed(stdout)).toMatchObject({
      status: "logged",
      model_id: "m",
      split: "train",
      batch: null,
      requests: 1,
      bytes: 1422021,
      groups: { ...none, read: 20, logged: 20 },
      trajectories: { ...none, read: 80, logged: 80 },
      metrics: sampleMetrics,
      rejects_file: null,
    });
  });

  it("replaces answers by their sizes if they exceed 64 KiB together", async () => {
    const long = JSON.stringify("x".repeat(40_000));
    const { stdout } = await log(
      [two(), "--split", "t", "--max-request-size", "120", "--json"],
      [json(long), json(long)],
    );
    expect(parsed(stdout)).toMatchObject({
      responses: [
        { status: 200, body: null, body_bytes: 40_002 },
        { status: 200, body: null, body_bytes: 40_002 },
      ],
    });
  });

  it("prints the command that reads the first call, a plan of logged groups, and an empty answer as null", async () => {
    const answers = [json("{}"), json({ call_ids: ["c1"] }), json({ call_ids: ["c2"] }), { status: 200, body: "" }];
    const server = await scriptedServer(answers.map((answer) => ({ answer })));
    const env = { ...account(server.url), ...newHome() };
    const [file = ""] = filesOf(`${group(1)}\n${group(2)}\n${group(3)}\n`);
    const run = async (...more: readonly string[]) =>
      await runHere(["log", "m", file, "--split", "t", ...more], { env });
    const sent = await run("--max-request-size", "120", "--project", "a/b", "-o", "table");
    expect(sent.stdout).toMatch(/\nnext {2}rollcall call read c1 --project a\/b\n$/);
    expect((await run("--dry-run", "-o", "table")).stdout).toMatch(/\ngroups +3 already logged\n/);
    expect(JSON.parse((await run("--json")).stdout).metrics_of).toBe(undefined);
    const { responses } = JSON.parse((await run("--batch", "b", "--json")).stdout);
    expect(responses).toEqual([{ status: 200, body: null }]);
  });

  it.each<[groups: number, statuses: readonly number[], text: string, metricsOf: unknown]>([
    [1, [500], "the one valid group of the input (logged or not)", { groups: 1, logged: 0 }],
    [3, [200, 500], "the 3 valid groups of the input (1 of them are known to be logged)", { groups: 3, logged: 1 }],
    [2, [200, 200], "", undefined],
  ])("names the groups of its metrics if not all are logged (row %$)", async (count, statuses, text, metricsOf) => {
    const [file = ""] = filesOf(Array.from({ length: count }, (_, at) => `${group(at)}\n`).join(""));
    for (const format of ["table", "json"]) {
      const server = await scriptedServer(statuses.map((status) => ({ answer: json("{}", status) })));
      const args = ["log", "m", file, "--split", "t", "--max-request-size", "100", "--max-wait", "0s", "-o", format];
      const { stdout } = await runHere(args, { env: { ...account(server.url), ...newHome() } });
      if (format === "json") expect(JSON.parse(stdout).metrics_of).toEqual(metricsOf);
      else expect([stdout.includes(text), stdout.includes("valid group")]).toEqual([true, text !== ""]);
    }
  });

  it("takes the split from the environment, or from a whole request in the input", async () => {
    const split = async (args: readonly string[], env = {}) =>
      JSON.parse((await log(args, [json("{}")], { env })).received[0]?.body.toString() ?? "{}").split;
    expect(await split([two()], { ROLLCALL_SPLIT: "val" })).toBe("val");
    const [request = ""] = filesOf(`{"trajectory_groups":[${group(1)}],"split":"test"}`);
    expect(await split([request])).toBe("test");
  });
});
