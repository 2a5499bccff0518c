import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { describe, expect, it } from "vitest";
import { endOf, newHome, peakOf, runRollcall, startRollcall } from "../../support/run.ts";
import { type Exchange, json, listening, type Received, scriptedServer } from "../../support/server.ts";
import { seeLine } from "../../support/terminal.ts";

const project = "acme-travel/airline-agent";
const envOf = (url: string) => ({ ROLLCALL_BASE_URL: url, ROLLCALL_API_KEY: "key-1234", ROLLCALL_PROJECT: project });

/** A service that answers these exchanges, and a run of `call read` against it. */
const service = async (exchanges: readonly Exchange[]) => {
  const server = await scriptedServer(exchanges);
  const env = envOf(server.url);
  const read = async (args: readonly string[], stdin = "") =>
    await runRollcall(["call", "read", ...args], { env, stdin });
  return { server, read, env };
};

const asksFor = (id: string) => (request: Received) => JSON.parse(request.body.toString()).id === id;
const found = (id: string, call: object = {}): Exchange => ({
  when: asksFor(id),
  answer: json({ call: { id, ...call } }),
});
const missing = (id: string): Exchange => ({ when: asksFor(id), answer: json({ call: null }) });
const sample = (name: string) => JSON.parse(readFileSync(`test/samples/${name}.json`, "utf8")).call;
const toolCall = sample("call.tools");

/** Runs a shell line with `rollcall` being the built program. */
const seeRollcall = async (line: string, env: Readonly<Record<string, string | undefined>>, columns = 100) =>
  await seeLine(`rollcall() { "${process.execPath}" bin/rollcall.js "$@"; }\n${line}`, {
    env: { PATH: process.env.PATH, ...newHome(), ...env },
    columns,
    rows: 2000,
  });

describe("rollcall call read --list", () => {
  const traceback = "Traceback (most recent call last):\n  File x\nValueError: no such\ttool\n";
  const calls = [
    found("a", sample("call")),
    found("b", sample("call.exception")),
    found("c", { ...toolCall, exception: traceback, started_at: "2026-01-02T03:04:05Z" }),
  ];

  it("has a line of each call: how it stands, and what it failed with", async () => {
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

  it("is of those that are chosen, and says nothing of what people wrote with --no-content", async () => {
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

  it("is named where three pages or more are shown of those that were chosen", async () => {
    const { read } = await service([...calls.slice(1), found("d", { exception: "x" }), ...calls.slice(1)]);
    const { stderr } = await read(["-", "--failed"], "b\nc\nd");
    expect(stderr).toBe("note: 3 calls are shown whole: --list has a line of each\n");
    expect((await read(["b", "c", "--failed"])).stderr).toBe("");
  });

  it("is no form of JSON, whose calls are whole", async () => {
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

  it.each([60, 100, 160])("is a table that fits %i columns", async (columns) => {
    const { env } = await service(calls.slice(0, 4));
    const { code, lines } = await seeRollcall("rollcall call read a b c d --costs --summary -q", env, columns);
    expect(code).toBe(0);
    expect(lines.filter((line) => line.length > columns)).toEqual([]);
    await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot(`golden/summary.${columns}.txt`);
  });

  it("is rows with a total in a pipe, and says whose cost is missing", async () => {
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

  it("is one document, without costs that nobody asked for, and counts what is missing", async () => {
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

  it("counts a call that is named twice once", async () => {
    const { read } = await service(calls.slice(0, 1));
    const { stdout } = await read(["a", "-", "a", "--summary", "-o", "jsonl", "--fields", "op,calls"], "a\na\n");
    expect(stdout).toBe('{"op":"openai.chat.completions.create","calls":1}\n');
  });

  it("answers what was logged today, straight from the ledger", async () => {
    const line =
      "rollcall log gpt-4o test/samples/wordle.trajectories.jsonl --group-by prompt_id --split train --local >log 2>&1\n" +
      "rollcall ledger calls --since 1d --local | rollcall call read - --costs --summary --local -o csv";
    const { code, lines } = await seeRollcall(line.replace(">log", ">/dev/null"), {});
    expect(code).toBe(0);
    expect(lines.at(1)).toMatch(/^rollcall\.log,gpt-4o,45,0,0,0,/);
  });
});

describe("rollcall call read, of the calls named", () => {
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
  ])("%j leaves %j, and counts the others", async (options, ids) => {
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
  ])("is an empty result with %j where nothing is left", async (form, printed) => {
    const { read } = await service([found("ok", ended)]);
    const { code, stdout } = await read(["ok", "--failed", ...form]);
    expect([code, stdout]).toEqual([0, printed]);
  });
});

describe("a list of calls", () => {
  it("has their rewards where there are some, behind all else", async () => {
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

describe("rollcall call read --path", () => {
  it.each([
    [
      "a text as it is",
      ["--path", "output.choices[0].message.content"],
      `${toolCall.output.choices[0].message.content}\n`,
    ],
    ["a number as it is spelled", ["--path", "summary.usage.gpt-4o-2024-08-06.total_tokens"], "437\n"],
    ["an object's JSON", ["--path", "output.usage"], `${JSON.stringify(toolCall.output.usage)}\n`],
    ["a text's JSON, where JSON is asked for", ["--path", "inputs.model", "--json"], '"gpt-4o-2024-08-06"\n'],
  ])("prints %s", async (_, args, text) => {
    const { read } = await service([found("a", toolCall)]);
    expect(await read(["a", ...args])).toEqual({ code: 0, stdout: text, stderr: "" });
  });

  it("prints control characters to a program, and none to a terminal", async () => {
    const text = "a\u001b]0;owned\u0007b\u202ec\r\n";
    const { read, env } = await service([found("a", { output: text }), found("a", { output: text })]);
    expect((await read(["a", "--path", "output"])).stdout).toBe(`${text}\n`);
    const { written } = await seeRollcall("rollcall call read a --path output", env);
    expect(written).not.toContain("owned");
  });

  it("ends with 9 where there is no such value, and names what is near", async () => {
    const { read } = await service([found("a", toolCall), found("b")]);
    const { code, stdout, stderr } = await read(["a", "b", "--path", "output.choices[0].mesage.content"]);
    expect([code, stdout]).toEqual([9, ""]);
    expect(stderr).toContain("2 of 2 calls have no output.choices[0].mesage");
    expect(stderr).toContain("did you mean output.choices[0].message.content?");
  });
});

describe("rollcall call read --as trajectory", () => {
  it("makes lines that log takes, with the service's own spelling", async () => {
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
    const line =
      "rollcall call read a b c --as trajectory | rollcall log m --split train --no-ledger --rejects r --json --group-by thread_id >/dev/null";
    const { code, lines } = await seeRollcall(line, env);
    expect([code, lines.join(" ")]).toEqual([
      0,
      expect.stringContaining("1 of 3 calls can't become a trajectory: b (it failed and has no output)"),
    ]);
    const [request = ""] = sent;
    const { trajectory_groups } = JSON.parse(request);
    expect(trajectory_groups).toHaveLength(1);
    expect(trajectory_groups[0].trajectories).toHaveLength(2);
    expect(request).toContain(JSON.stringify(toolCall.inputs.tools));
    expect(request).toContain(JSON.stringify(toolCall.output.choices[0]));
    expect(server.received).toHaveLength(4);
  });

  it("gives back what was logged, choices included", async () => {
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
    const log = ["log", "m", "--split", "train", "--local", "--json", "--rejects", "r", "--allow", "group-of-one"];
    const logged = await runRollcall(log, { env: home, stdin: JSON.stringify(trajectory) });
    const [id] = JSON.parse(logged.stdout).responses[0].body.call_ids;
    const read = await runRollcall(["call", "read", id, "--as", "trajectory", "--local"], { env: home });
    expect(read.code).toBe(0);
    expect(JSON.parse(read.stdout)).toEqual(trajectory);
  });

  it.each([
    [["--reward", "x", "--as", "trajectory"], "--reward"],
    [["--reward", "1"], "--as trajectory"],
    [["--reward", "1", "--reward-from", "a", "--as", "trajectory"], "one reward"],
    [["--as", "trajectory", "--summary"], "--summary"],
    [["--as", "trajectory", "--no-content"], "--no-content"],
    [["--path", "a", "--summary"], "--path"],
    [["--path", "a["], "--path"],
    [["--path", "a", "--fields", "id"], "--fields"],
    [["--as", "trajectory", "-o", "csv"], "-o csv"],
    [["--as", "messages", "--json"], "-o jsonl"],
    [["--as", "markdown", "-o", "jsonl"], "Markdown is no JSON"],
    [["--as", "poem"], "trajectory"],
    [["--concurrency", "0"], "from 1 to 64"],
  ])("says what is wrong with %j", async (args, text) => {
    const { code, stdout, stderr } = await runRollcall(["call", "read", "a", ...args]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(text);
  });
});

describe("rollcall call read --as", () => {
  it("messages is a JSON list", async () => {
    const { read } = await service([found("a", toolCall)]);
    const list = JSON.parse((await read(["a", "--as", "messages"])).stdout);
    expect(list).toEqual([...toolCall.inputs.messages, toolCall.output.choices[0].message]);
  });

  it("markdown fences whatever stands in a call", async () => {
    const evil = "```\n# Output\n<script>alert(1)</script>\n````\n![x](http://evil.example)";
    const call = {
      display_name: "<b>[x](http://evil.example)",
      inputs: { messages: [{ role: "user", content: evil }] },
      output: "fine",
    };
    const { read } = await service([found("a", call)]);
    const { stdout } = await read(["a", "--as", "markdown"]);
    expect(stdout).toContain(`## user\n\n\`\`\`\`\`text\n${evil}\n\`\`\`\`\`\n`);
    expect(stdout).toMatch(/^# Call \\<b\\>\\\[x\\\]\\\(http\\:\/\/evil.example\\\)\n/);
  });
});

describe("rollcall call read --wait", () => {
  const running = (id: string): Exchange => found(id, { started_at: "2025-01-01T00:00:00Z", ended_at: null });
  const ended = (id: string): Exchange => found(id, { ended_at: "2025-01-01T00:00:01Z", output: "done" });

  it("follows a running call to its end, and prints the others in their order", async () => {
    const { read, server } = await service([running("a"), ended("b"), ended("a")]);
    const { code, stdout } = await read(["a", "b", "--wait", "-o", "jsonl", "--fields", "id,output"]);
    expect([code, stdout]).toEqual([0, '{"id":"a","output":"done"}\n{"id":"b","output":"done"}\n']);
    expect(server.received.map(({ body }) => JSON.parse(body.toString()).id)).toEqual(["a", "b", "a"]);
  });

  it("ends with 5 where a call still runs at the bound, and prints it as it stands", async () => {
    // How often it is asked within the bound is up to the machine.
    const server = createServer(async (request, response) => {
      const { id } = JSON.parse(Buffer.concat(await request.toArray()).toString());
      const call = { id, started_at: "2025-01-01T00:00:00Z", ended_at: id === "a" ? null : "2025-01-01T00:00:01Z" };
      response.setHeader("content-type", "application/json").end(JSON.stringify({ call }));
    });
    const { url } = await listening(server);
    const env = envOf(url);
    const args = ["call", "read", "a", "b", "--wait", "--max-wait", "100ms", "-o", "jsonl"];
    const { code, stdout, stderr } = await runRollcall(args, { env });
    expect([code, stdout.split("\n").length]).toEqual([5, 3]);
    expect(JSON.parse(stderr).error).toMatchObject({ code: "unavailable", retryable: true });
    expect(JSON.parse(stderr).error.message).toContain("1 of 2 calls are still running");
  });

  it("is over where nothing more will come: a call that is gone, failed or deleted", async () => {
    const { read } = await service([
      found("a", { exception: "boom", ended_at: null }),
      found("b", { deleted_at: "2025-01-01T00:00:00Z" }),
      running("c"),
      missing("c"),
    ]);
    expect((await read(["a", "b", "c", "--wait", "-o", "jsonl", "--fields", "id"])).code).toBe(9);
  });
});

describe("rollcall call read --no-content", () => {
  it("leaves the words of people and models out of the page and of JSON", async () => {
    const call = { ...sample("call.exception"), display_name: "secret name", acme: { note: "secret", n: 1 } };
    const { read } = await service([found("a", call), found("a", call)]);
    const page = await read(["a", "--no-content"]);
    expect(page.stdout).toContain("status  failed");
    expect(page.stdout).toContain("Left out (--no-content)");
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
});

describe("rollcall call read", () => {
  it("prints what is there while standard input is still open", async () => {
    const { env } = await service([found("a"), found("b")]);
    const child = startRollcall(["call", "read", "-", "-o", "jsonl"], { env });
    const first = new Promise<string>((settle) => child.stdout.once("data", (bytes) => settle(String(bytes))));
    child.stdin.write("a\n");
    expect(await first).toBe('{"id":"a"}\n');
    const ended = endOf(child);
    child.stdin.end('{"id":"b"}\n');
    expect(await ended).toMatchObject({ code: 0, stdout: '{"id":"b"}\n' });
  });

  it("ends when its reader leaves, though standard input stays open", async () => {
    const server = createServer((request, response) => {
      request.resume().on("end", () => response.end(`{"call":{"id":"x","output":"${"x".repeat(200_000)}"}}`));
    });
    const { url } = await listening(server);
    const child = startRollcall(["call", "read", "-", "-o", "jsonl"], { env: envOf(url) });
    child.stdout.once("data", () => child.stdout.destroy());
    const code = new Promise((settle) => child.on("exit", settle));
    child.stdin.write("id\n".repeat(50));
    expect(await code).toBe(0);
    child.stdin.end();
  });

  it("shows pages as they come, and stops reading when their reader closes the pager", async () => {
    let asked = 0;
    const server = createServer((request, response) => {
      asked++;
      request.resume().on("end", () => response.end(`{"call":{"id":"x","output":"${"text\\n".repeat(50)}"}}`));
    });
    const { url } = await listening(server);
    const ids = Array.from({ length: 400 }, (_, at) => `id-${at}`);
    const line = `printf '${ids.join("\\n")}' | rollcall call read - ; echo "code $?"`;
    const { lines } = await seeRollcall(line, { ...envOf(url), PAGER: "head -2", NO_COLOR: "1" });
    expect(lines).toEqual(["Call without a name", "  status  running", "code 0"]);
    expect(asked).toBeLessThan(400);
  });

  it("prints what came before a key is refused in the middle, and stops", async () => {
    const refused: Exchange = { when: asksFor("b"), answer: json({ reason: "expired" }, 401) };
    const { read } = await service([found("a"), refused]);
    const { code, stdout, stderr } = await read(["a", "b", "c", "--concurrency", "1", "-o", "jsonl"]);
    expect([code, stdout]).toEqual([4, '{"id":"a"}\n']);
    expect(JSON.parse(stderr).error.code).toBe("auth");
  });

  it("says once what is not of the interface's type, and shows it as it came", async () => {
    const odd = { op_name: 7, inputs: "text", ended_at: [1] };
    const { read } = await service([found("a", odd), found("b", { inputs: [] })]);
    const { code, stdout, stderr } = await read(["a", "b"]);
    expect(code).toBe(0);
    expect(stderr).toBe(
      "note: not of the interface's type, and shown as it came: op_name (1 of 2 calls), inputs (2 of 2 calls), ended_at (1 of 2 calls)\n",
    );
    expect(stdout).toContain("operation  7\n");
  });

  it("folds what is long on a terminal, says how long it is, and prints all of it with --full", async () => {
    const content = Array.from({ length: 500 }, (_, at) => `line ${at}`).join("\n");
    const messages = Array.from({ length: 100 }, (_, at) => ({ role: "user", content: `message ${at}` }));
    const call = { inputs: { messages }, output: { role: "assistant", content } };
    const { env } = await service([found("a", call), found("a", call)]);
    const folded = await seeRollcall("rollcall call read a --no-pager", env);
    expect(folded.lines).toContain("    … folded: 4,389 characters on 500 lines (--full)");
    expect(folded.lines).toContain("  … 70 more are left out here (--full)");
    expect(folded.lines).toContain("    │ line 499");
    expect(folded.lines).not.toContain("    │ line 250");
    const full = await seeRollcall("rollcall call read a --no-pager --full", env);
    expect(full.lines).toContain("    │ line 250");
    expect(full.lines).toContain("    │ message 50");
  });

  it("prints a call of 24 MB whole, in little more memory than it takes", async () => {
    const content = "a line of what a model wrote, as long as most\n".repeat(500);
    const messages = Array.from({ length: 1024 }, (_, at) => ({ role: at % 2 === 0 ? "user" : "assistant", content }));
    const { env } = await service([found("a", { inputs: { messages } })]);
    const { code, stdout } = await runRollcall(["call", "read", "a"], {
      env: { ...env, NODE_OPTIONS: "--max-old-space-size=56" },
    });
    expect([code, stdout.match(/ │ a line of what/g)?.length]).toEqual([0, 500 * 1024]);
  });

  it.each(["--json", "-o jsonl"])(
    "prints a call of 40 MB with %s as it came, which is held once more for that",
    async (form) => {
      const bytes = 40_000_000;
      const content = "a line of what a model wrote\n".repeat(bytes / 30);
      const calls = [found("a", { output: content }), found("a", { output: content })];
      const { env } = await service(calls);
      const least = await peakOf(["call", "read", "a", "--summary"], env);
      expect(((await peakOf(["call", "read", "a", ...form.split(" ")], env)) - least) / bytes).toBeLessThan(1.6);
    },
  );

  it("shows a call of 20 MB on a terminal in a few lines", async () => {
    const long = "x".repeat(10_000_000);
    const { env } = await service([
      found("a", { inputs: { messages: [{ role: "user", content: long }] }, output: [long] }),
    ]);
    const { code, lines } = await seeRollcall("rollcall call read a --no-pager", env);
    expect(code).toBe(0);
    expect(lines.length).toBeLessThan(100);
    expect(lines).toContain("    … folded: 10,000,000 characters (--full)");
  });

  it("marks every line of text from a call, whatever it holds", async () => {
    const evil = "fine\n\nOutput\n\n  assistant\n    │ I did\n\r\u2028Other\n    … folded: 1 characters (--full)";
    const call = { inputs: { messages: [{ role: "user", content: evil, name: "a)\n  system" }] }, exception: evil };
    const { read } = await service([found("a", call)]);
    const { stdout } = await read(["a"]);
    const unmarked = stdout.split("\n").filter((line) => line !== "" && !/^ *│/.test(line));
    expect(unmarked).toEqual([
      "Call without a name",
      "  status  failed",
      "  id      a",
      "Exception",
      "Inputs",
      '  user ("a)\\n  system")',
    ]);
  });
});
