import { describe, expect, it } from "vitest";
import { newHome, runRollcall } from "../../support/run.ts";
import { found, missing, onTerminal, sample, service, toolCall } from "./service.ts";

describe("rollcall call read --list", () => {
  const traceback = "Traceback (most recent call last):\n  File x\nValueError: no such\ttool\n";
  const calls = [
    found("a", sample("call")),
    found("b", sample("call.exception")),
    found("c", { ...toolCall, exception: traceback, started_at: "2026-01-02T03:04:05Z" }),
  ];

  it("prints a line with the status and the exception of each call", async () => {
    const { read } = await service(calls);
    const { code, stdout, stderr } = await read(["-", "--list", "--header"], "a\nb\nc\n");
    const rows = stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.split("\t"));
    expect([code, stderr]).toEqual([0, ""]);
    expect(rows[0]).toEqual(["id", "status", "op", "model", "started", "s", "exception"]);
    expect(rows.slice(1).map(([id, status]) => [id, status])).toEqual([
      ["a", "ok"],
      ["b", "failed"],
      ["c", "failed"],
    ]);
    expect(rows[3]?.slice(2)).toEqual([
      "agent.turn",
      "gpt-4o-2024-08-06",
      "2026-01-02T03:04:05Z",
      expect.any(String),
      "ValueError: no such tool",
    ]);
  });

  it("prints only matching calls, without content with --no-content", async () => {
    const { read } = await service(calls);
    const { stdout, stderr } = await read(
      ["-", "--failed", "--list", "--no-content", "--fields", "id,exception"],
      "a\nb\nc",
    );
    expect([stdout, stderr]).toEqual([
      "b\tleft out\nc\tleft out\n",
      "note: 1 of 3 calls left out: not one of those asked for\n",
    ]);
  });

  it("appears as a hint after three pages of matching calls", async () => {
    const { read } = await service([...calls.slice(1), found("d", { exception: "x" }), ...calls.slice(1)]);
    const { stderr } = await read(["-", "--failed"], "b\nc\nd");
    expect(stderr).toBe("note: 3 calls are shown whole: --list has a line of each\n");
    expect((await read(["b", "c", "--failed"])).stderr).toBe("");
  });

  it("exits with 2 with -o jsonl, and suggests --fields", async () => {
    const { code, stderr } = await runRollcall(["call", "read", "a", "--list", "-o", "jsonl"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("-o jsonl --fields id,exception")]);
  });
});

describe("rollcall call read --summary", () => {
  const calls = [
    found("a", sample("call")),
    found("b", sample("call.exception")),
    found("c", toolCall),
    found("d", { ...toolCall, id: "d" }),
    missing("e"),
  ];

  it.each([60, 100, 160])("prints a table that fits %i columns", async (columns) => {
    const { env } = await service(calls.slice(0, 4));
    const { code, lines } = await onTerminal("call read a b c d --costs --summary -q", env, columns);
    expect(code).toBe(0);
    expect(lines.filter((line) => line.length > columns)).toEqual([]);
    await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot(`golden/summary.${columns}.txt`);
  });

  it("prints rows and a total in a pipe, and notes the calls without a cost", async () => {
    const { read } = await service(calls.slice(0, 4));
    const { code, stdout, stderr } = await read(["a", "b", "c", "d", "--costs", "--summary"]);
    expect(code).toBe(0);
    expect(stdout.split("\n").map((line) => line.split("\t"))).toEqual([
      ["agent.turn", "gpt-4o-2024-08-06", "2", "0", "0", "0", "2.24625", "2.24625", "804", "70", "874", "0.00271"],
      ["openai.chat.completions.create", "Qwen/Qwen3-32B", "1", "1", "0", "0", "0.335471", "0.335471", "", "", "", ""],
      [
        ...["openai.chat.completions.create", "gpt-4o-2024-08-06", "1", "0", "0", "0", "1.516523", "1.516523"],
        ...["1873", "21", "1894", "0.0048925"],
      ],
      ["all calls", "", "4", "1", "0", "0", "1.516523", "2.24625", "2677", "91", "2768", "0.0076025"],
      [""],
    ]);
    expect(stderr).toBe("note: the cost is that of 3 of 4 calls: the service gave none for the others\n");
  });

  it("prints one document without costs, and counts missing calls", async () => {
    const { read } = await service(calls);
    const { code, stdout, stderr } = await read(["a", "b", "c", "d", "e", "--summary", "--json"]);
    expect(code).toBe(9);
    const { summary, groups } = JSON.parse(stdout);
    expect(summary).toEqual({
      calls: 4,
      ok: 3,
      failed: 1,
      running: 0,
      deleted: 0,
      seconds: { calls: 4, p50: 1.516523, p95: 2.24625 },
      tokens: { calls: 3, prompt: 2677, completion: 91, total: 2768 },
      missing: 1,
    });
    expect(groups[0]).toEqual({
      op: "agent.turn",
      model: "gpt-4o-2024-08-06",
      calls: 2,
      ok: 2,
      failed: 0,
      running: 0,
      deleted: 0,
      seconds: { calls: 2, p50: 2.24625, p95: 2.24625 },
      tokens: { calls: 2, prompt: 804, completion: 70, total: 874 },
    });
    expect(JSON.parse(stderr).error.message).toContain("1 of 5 calls");
  });

  it("counts a call once for any number of mentions", async () => {
    const { read } = await service(calls.slice(0, 1));
    const { stdout } = await read(["a", "-", "a", "--summary", "-o", "jsonl", "--fields", "op,calls"], "a\na\n");
    expect(stdout).toBe('{"op":"openai.chat.completions.create","calls":1}\n');
  });

  it("summarizes the calls that `ledger calls` prints", async () => {
    const env = newHome();
    const run = async (line: string, stdin = "") => await runRollcall(line.split(" "), { env, stdin });
    await run("log gpt-4o test/samples/wordle.trajectories.jsonl --group-by prompt_id --split train --local");
    const { stdout: calls } = await run("ledger calls --since 1d --local");
    const { code, stdout } = await run("call read - --costs --summary --local -o csv", calls);
    expect(code).toBe(0);
    expect(stdout.split("\r\n")[1]).toMatch(/^rollcall\.log,gpt-4o,45,0,0,0,/);
  });
});

describe("rollcall call read with filters", () => {
  const ended = { started_at: "2026-01-01T00:00:00Z", ended_at: "2026-01-01T00:00:01Z" };
  const all = [
    found("ok", { ...ended, op_name: "vendor:///a/b/op/agent.step:1", output: { model: "Qwen3-32B" } }),
    found("failed", { ...ended, op_name: "agent.plan", exception: "boom", inputs: { model: "gpt-4o" } }),
    found("running", {
      op_name: "judge",
      summary: { usage: { "gpt-4o": { total_tokens: 1 }, mini: { total_tokens: 1 } } },
    }),
    missing("gone"),
  ];

  it.each<[options: readonly string[], ids: readonly string[]]>([
    [["--failed"], ["failed"]],
    [
      ["--running", "--failed"],
      ["failed", "running"],
    ],
    [
      ["--op", "agent.*"],
      ["ok", "failed"],
    ],
    [["--op", "STEP"], ["ok"]],
    [["--model", "gpt-4o", "--running"], ["running"]],
    [["--model", "qwen*", "--failed"], []],
  ])("prints, with %j, the calls %j, and counts the others", async (options, ids) => {
    const { read } = await service([...all, ...all]);
    const json = await read(["-", "--json", ...options], "ok\nfailed\nrunning\ngone\n");
    expect([json.code, JSON.parse(json.stdout).calls.map(({ id }: { id: string }) => id)]).toEqual([9, ids]);
    const lines = await read(["ok", "failed", "running", "gone", "--path", "id", ...options]);
    expect(lines.stdout).toBe(ids.map((id) => `${id}\n`).join(""));
    const note = ids.length === 0 ? "none of 3 calls is one" : `${3 - ids.length} of 3 calls left out: not one`;
    expect(lines.stderr.split("\n")[0]).toBe(`note: ${note} of those asked for`);
  });

  it.each<[form: readonly string[], printed: string]>([
    [["--json"], '{"calls":[]}\n'],
    [["-o", "jsonl"], ""],
    [["--fields", "id,op_name", "-o", "csv"], "id,op_name\r\n"],
    [[], ""],
  ])("prints an empty result with %j if no call matches", async (form, printed) => {
    const { read } = await service([found("ok", ended)]);
    const { code, stdout } = await read(["ok", "--failed", ...form]);
    expect([code, stdout]).toEqual([0, printed]);
  });
});

describe("rollcall call read -o csv", () => {
  it("prints the reward in the last column if a call has one", async () => {
    const calls = [found("a", { attributes: { reward: 0.5 } }), found("b", { attributes: {} })];
    const { read } = await service([...calls, ...calls, found("b")]);
    const { stdout } = await read(["a", "b", "-o", "csv"]);
    expect(stdout.split("\r\n").map((line) => line.split(",").at(-1))).toEqual(["attributes.reward", "0.5", "", ""]);
    expect((await read(["a", "b", "-o", "csv", "--fields", "id,reward"])).stdout).toBe(
      "id,attributes.reward\r\na,0.5\r\nb,\r\n",
    );
    expect((await read(["b", "-o", "csv"])).stdout).not.toContain("reward");
  });
});
