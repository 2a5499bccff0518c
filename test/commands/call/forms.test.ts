import { describe, expect, it } from "vitest";
import { runHere } from "../../support/here.ts";
import { newHome, runRollcall } from "../../support/run.ts";
import { runOnTerminal } from "../../support/terminal.ts";
import { found, sample, service, toolCall } from "./service.ts";

describe("rollcall call read --path", () => {
  it("prints control characters to a program, and none to a terminal", async () => {
    const text = "a\u001b]0;owned\u0007b\u202ec\r\n";
    const { read, env } = await service([found("a", { output: text }), found("a", { output: text })]);
    expect((await read(["a", "--path", "output"])).stdout).toBe(`${text}\n`);
    const line = `"${process.execPath}" bin/rollcall.js call read a --path output`;
    const { written } = await runOnTerminal(line, { env: { PATH: process.env.PATH, ...newHome(), ...env } });
    expect(written).not.toContain("owned");
  });

  it.each([
    ["--path id -o csv", "--path and -o csv"],
    ["--as trajectory --json", "--as trajectory and -o json"],
    ["--list --json", "--list and -o json"],
    ["--list -o jsonl", "--list and -o jsonl"],
    ["--list --costs", "--list and --costs"],
    ["--list --storage-size", "--list and --storage-size"],
    ["--list --total-storage-size", "--list and --total-storage-size"],
  ])("refuses a form that %s does not have", async (options, combined) => {
    const { code, stderr } = await runHere(["call", "read", "a", ...options.split(" ")]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`cannot combine ${combined}: `)]);
  });

  it("names the whole path if several calls lack the value", async () => {
    const ids = ["a", "b", "d"];
    const { read } = await service(ids.map((id) => found(id, id === "a" ? {} : { output: { x: 1 } })));
    const stderr = `rollcall: 3 of 3 calls have no value at \`output.choices[0]\`: a, b, d\nhint: omit --path to see the whole call\n`;
    expect(await read([...ids, "--path", "output.choices[0]"])).toMatchObject({ code: 9, stderr });
  });
});

describe("the values at a path", () => {
  it.each([
    ["a", ["--json"], '"t a"\n'],
    ["none", ["--json"], ""],
    ["a c", ["--json"], '["t a","t c"]\n'],
    ["a none", ["--json"], '["t a"]\n'],
    ["none none", ["--json"], ""],
    ["a none c", [], "t a\nt c\n"],
  ])("of the calls %s, with %j, are %j", async (typed, options, stdout) => {
    const ids = typed.split(" ");
    const { env } = await service(ids.map((id) => found(id, id === "none" ? {} : { output: { x: `t ${id}` } })));
    const code = ids.includes("none") ? 9 : 0;
    expect(await runHere(["call", "read", ...ids, "--path", "output.x", ...options], { env })).toMatchObject({
      code,
      stdout,
    });
  });
});

it.each([
  ["--storage-size", "deleted_at,storage_size_bytes"],
  ["--total-storage-size", "deleted_at,total_storage_size_bytes"],
])("call read has the columns of sizes only with their options: %s", async (option, columns) => {
  const { env, server } = await service([found("a"), found("a")]);
  const endOf = async (...args: readonly string[]) =>
    /,(deleted_at.*)/.exec((await runHere(["call", "read", "a", "-o", "csv", ...args], { env })).stdout)?.[1]?.trim();
  expect([await endOf(), await endOf(option)]).toEqual(["deleted_at", columns]);
  const sent = server.received.map(({ body }) => JSON.parse(body.toString()));
  const name = `include_${option.slice(2).replaceAll("-", "_")}`;
  expect(sent.map((request) => request[name] === true)).toEqual([false, true]);
});

describe("rollcall call read --list", () => {
  it("shows the last line of an exception, and no time of a call that ended before it started", async () => {
    const [before, after] = ["2025-01-01T00:00:00Z", "2025-01-01T00:00:01.5Z"];
    const exception = "Traceback (most recent call last)\n  KeyError: 'x'\n";
    const { env } = await service([
      found("a", { op_name: "op", exception, started_at: before, ended_at: after }),
      found("b", { started_at: after, ended_at: before }),
    ]);
    const { stdout } = await runHere(["call", "read", "a", "b", "--list", "-o", "csv"], { env });
    expect(stdout.split("\r\n").slice(1)).toEqual([
      `a,failed,op,,${before},1.5,KeyError: 'x'`,
      `b,ok,,,${after},,`,
      "",
    ]);
  });
});

it("call read --path prints an empty list if a filter leaves no call", async () => {
  const { env } = await service([found("a"), found("b")]);
  const { code, stdout } = await runHere(["call", "read", "a", "b", "--failed", "--path", "id", "--json"], { env });
  expect([code, stdout]).toEqual([0, "[]\n"]);
});

describe("rollcall call read --as trajectory", () => {
  it.each([
    [["a"], "hint: examine the call: `rollcall call read a"],
    [["a", "b"], "hint: examine one of these calls: `rollcall call read a"],
  ])("proposes to examine a call that cannot be converted, of %j", async (ids, hint) => {
    const { env } = await service(ids.map((id) => found(id)));
    const { code, stderr } = await runHere(["call", "read", ...ids, "--as", "trajectory"], { env });
    expect([code, stderr]).toEqual([3, expect.stringContaining(hint)]);
  });

  it("prints lines that log accepts, with the service's spelling", async () => {
    const sent: string[] = [];
    const { server, env } = await service([
      found("a", toolCall),
      found("b", sample("call.exception")),
      found("c", { ...toolCall, id: "c" }),
      {
        when: ({ path }) => path.endsWith("/log"),
        answer: (request, response) => {
          sent.push(request.body.toString());
          response.end("{}");
        },
      },
    ]);
    const read = await runRollcall(["call", "read", "a", "b", "c", "--as", "trajectory"], { env });
    expect(read.stderr).toContain("cannot convert 1 of 3 calls to a trajectory: b (it failed with an exception)");
    const log = "log m --split train --no-ledger --rejects r --json --group-by thread_id";
    expect(await runRollcall(log.split(" "), { env, stdin: read.stdout })).toMatchObject({ code: 0 });
    const [request = ""] = sent;
    const { trajectory_groups } = JSON.parse(request);
    expect(trajectory_groups).toHaveLength(1);
    expect(trajectory_groups[0].trajectories).toHaveLength(2);
    expect(request).toContain(JSON.stringify(toolCall.inputs.tools));
    expect(request).toContain(JSON.stringify(toolCall.output.choices[0]));
    expect(server.received).toHaveLength(4);
  });

  it("prints the logged trajectory again, including choices", async () => {
    const home = newHome();
    const choice = { index: 0, finish_reason: "stop", message: { role: "assistant", content: "a" }, logprobs: null };
    const trajectory = {
      messages_and_choices: [{ role: "user", content: "q" }, choice, { role: "user", content: "r" }, choice],
      tools: [{ type: "function", function: { name: "f", strict: true } }],
      additional_histories: [{ messages_and_choices: [{ role: "user", content: "h" }] }],
      reward: 0.5,
      initial_policy_version: 3,
      metrics: { m: 1 },
      metadata: { k: "v" },
      logs: ["l"],
      start_time: "2025-01-01T00:00:00Z",
      group_id: "g",
    };
    const log = [
      "log",
      "m",
      "--split",
      "train",
      "--local",
      "--json",
      "--rejects",
      "r",
      "--allow",
      "single-trajectory-group",
    ];
    const logged = await runRollcall(log, { env: home, stdin: JSON.stringify(trajectory) });
    const [id] = JSON.parse(logged.stdout).responses[0].body.call_ids;
    const read = await runRollcall(["call", "read", id, "--as", "trajectory", "--local"], { env: home });
    expect(read.code).toBe(0);
    expect(JSON.parse(read.stdout)).toEqual(trajectory);
  });
});

describe("rollcall call read --no-content", () => {
  it("omits the content of a call from the page and from JSON", async () => {
    const call = { ...sample("call.exception"), display_name: "secret name", acme: { note: "secret", n: 1 } };
    const { read } = await service([found("a", call), found("a", call)]);
    const page = await read(["a", "--no-content"]);
    expect(page.stdout).toContain("status    failed");
    expect(page.stdout).toContain("│ omitted_bytes:");
    const document = await read(["a", "--no-content", "--json"]);
    for (const { stdout } of [page, document]) {
      expect(stdout).not.toMatch(/secret|Traceback|Airline Agent|python-sdk/);
    }
    expect(JSON.parse(document.stdout).call).toMatchObject({
      id: call.id,
      acme: { n: 1 },
      omitted_bytes: { acme: 16 },
    });
  });

  it("keeps the figures and the names of models, but no text of more than four words", async () => {
    const other = "one two three four five";
    const usage = { prompt_tokens: 9, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 4 }, other };
    const summary = { vendor: { costs: { m: { prompt_tokens_total_cost: 1, completion_tokens_total_cost: 1 } } } };
    const call = { attributes: { reward: 1 }, output: { model: "m", usage }, summary };
    const { env } = await service([1, 2, 3].map(() => found("a", call)));
    const read = async (...options: readonly string[]) =>
      (await runHere(["call", "read", "a", ...options, "--no-content"], { env })).stdout;
    const page = await read("--costs");
    expect(page).toMatch(/reward +1\n(.*\n)*? +tokens +9 prompt \(4 cached\), 5 completion +m\n +cost +unknown \(/);
    expect(page).not.toContain("one");
    expect(JSON.parse(await read("--summary", "--costs", "--json"))).toMatchObject({
      summary: { tokens: { prompt: 9, completion: 5 }, cost: { calls: 0 } },
      groups: [{ model: "m" }],
      notes: [expect.stringContaining("did not state cache_read_input_tokens_total_cost")],
    });
    expect(await read("--list", "-o", "csv")).toContain(",m,");
  });
});
