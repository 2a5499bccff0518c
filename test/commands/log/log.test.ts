import { execFileSync, spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import * as zlib from "node:zlib";
import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { groupOf, linesOf, placeAt } from "../../promises/place.ts";
import { accept, faultyService, refuse } from "../../support/raw-server.ts";
import { interruptWaiting, newHome, type RunOptions, runRollcall, startRollcall } from "../../support/run.ts";
import { type Answer, type Exchange, json, listening, scriptedServer } from "../../support/server.ts";
import { filesOf, newFolder } from "../../trajectories/inputs.ts";

const groups = "test/samples/airline.groups.jsonl";
const line = (reward: number) => `{"messages_and_choices":[],"reward":${reward}}`;
const group = (reward: number) => `{"trajectories":[${line(reward)}]}`;
const two = () => filesOf(`${group(1)}\n${group(2)}\n`)[0] ?? "";

/** The environment of a person with an account at a service. */
const account = (url: string) => ({ ROLLCALL_BASE_URL: url, ROLLCALL_TOKEN: "token-1234" });

/** Logs to a service that answers so; gives what was seen and what arrived. */
const log = async (args: readonly string[], answers: readonly Answer[], options: RunOptions = {}) => {
  const server = await scriptedServer(answers.map((answer): Exchange => ({ answer })));
  const ran = await runRollcall(["log", "m", ...args], { ...options, env: { ...account(server.url), ...options.env } });
  return { ...ran, received: server.received };
};

const parsed = (text: string): unknown => JSON.parse(text);

/** The rules of a document's warnings. */
const rulesIn = (document: unknown): readonly string[] => {
  const { warnings } = document as { readonly warnings: readonly { readonly rule: string }[] };
  return warnings.map(({ rule }) => rule);
};

const sampleMetrics = {
  "train/reward": 0.25,
  "train/reward_std_dev": 0.22320508075688772,
  "train/exception_rate": 0,
  "train/num_messages": 29.325,
  "train/num_tool_calls": 6.425,
  "train/user_cost": 0.002866753246753247,
  "data/step_num_scenarios": 20,
  "data/step_num_trajectories": 80,
  "data/step_num_groups_submitted": 20,
  "data/step_num_groups_trainable": 10,
};

const textOf = async (stream: AsyncIterable<Uint8Array>): Promise<string> => {
  let text = "";
  for await (const chunk of stream) text += Buffer.from(chunk).toString();
  return text;
};

const none = { read: 0, logged: 0, already_logged: 0, rejected: 0, unknown: 0, not_sent: 0 };

describe("rollcall log", () => {
  it("sends one request with a token, and prints the metrics one a line", async () => {
    const { code, stdout, received } = await log([groups, "--split", "train"], [json("{}")]);
    expect(code).toBe(0);
    expect(stdout.split("\n").map((one) => one.split("\t"))).toContainEqual(["train/reward", "0.25"]);
    expect(received.map(({ method, path, headers }) => [method, path, headers.authorization])).toEqual([
      ["POST", "/v1/preview/models/m/log", "Bearer token-1234"],
    ]);
    expect(received[0]?.headers["content-length"]).toBe(String(received[0]?.body.length));
  });

  it("prints a document, with the answer as it was spelled", async () => {
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

  it("leaves out answers of more than 64 KiB together", async () => {
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

  it.each([
    ["nothing", "", null, 0],
    ["null", "null", null, 0],
    ["text", "fine", "fine", 1],
    ["HTML", "<html>", "<html>", 1],
  ])("takes an answer of %s for a success", async (_, body, shown, warnings) => {
    const { code, stdout } = await log([two(), "--split", "t", "--json"], [{ status: 202, body }]);
    expect(code).toBe(0);
    const document = parsed(stdout);
    expect(document).toMatchObject({ status: "logged", responses: [{ status: 202, body: shown }] });
    expect(rulesIn(document).filter((rule) => rule === "answer-unreadable")).toHaveLength(warnings);
  });

  it("sends nothing with --dry-run, and needs no service for it", async () => {
    const { code, stdout } = await runRollcall(["log", "m", groups, "--split", "train", "--dry-run", "--json"]);
    expect(code).toBe(0);
    expect(parsed(stdout)).toMatchObject({
      status: "planned",
      requests: 1,
      groups: { ...none, read: 20, not_sent: 20 },
      metrics: sampleMetrics,
      responses: [],
    });
  });

  it("says of a dry run where each request would go, and writes one byte for byte as it would be sent", async () => {
    const parts = [two(), "--split", "t", "--max-request-size", "110"];
    const env = { ...account("http://127.0.0.1:9"), ...newHome() };
    const sent = await log(parts, [json("{}"), json("{}")]);
    const planned = parsed((await runRollcall(["log", "m", ...parts, "--dry-run", "--json"], { env })).stdout);
    expect(planned).toMatchObject({
      plan: {
        method: "POST",
        url: "http://127.0.0.1:9/v1/preview/models/m/log",
        headers: { "Content-Type": "application/json" },
        requests: sent.received.map(({ body }) => ({ groups: 1, bytes: body.length })),
      },
    });
    for (const [at, { body }] of sent.received.entries()) {
      const { stdout } = await runRollcall(["log", "m", ...parts, "--dry-run", "--body", String(at + 1)], { env });
      expect(stdout).toBe(body.toString());
    }
    const wrong = async (...args: readonly string[]) => await runRollcall(["log", "m", ...parts, ...args], { env });
    expect(await wrong("--dry-run", "--body", "3")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("1 to 2"),
    });
    expect(await wrong("--body", "1")).toMatchObject({ code: 2, stderr: expect.stringContaining("--dry-run") });
  });

  it("says of a dry run which headers each request would have, the credential left out", async () => {
    const server = await scriptedServer([{ answer: json("{}") }, { answer: json("{}") }]);
    const env = { ...account(server.url), ...newHome() };
    const run = async (...args: readonly string[]) =>
      await runRollcall(["log", "m", two(), "--split", "t", ...args], { env });
    const dry = async (...args: readonly string[]) =>
      JSON.parse((await run("--dry-run", "--json", ...args)).stdout).plan;
    const apart = ["--max-request-size", "110"];
    const { headers, requests } = await dry(...apart);
    const one = await dry();
    const lines = (await run("--dry-run")).stdout;
    expect(lines).toContain(`header\tIdempotency-Key: ${one.requests[0].idempotency_key}\n`);
    expect((await run("--dry-run", ...apart)).stdout).toContain("header\tIdempotency-Key: one for each request");
    expect((await run("--dry-run", "--no-ledger")).stdout).toContain("header\tIdempotency-Key: another in every run");
    expect((await dry("--no-ledger")).requests).toMatchObject([{ idempotency_key: null }]);
    const never = await runRollcall(["log", "m", two(), "--split", "t", "--dry-run"], {
      env: { ...env, ROLLCALL_IDEMPOTENCY: "never" },
    });
    expect(never.stdout).not.toContain("Idempotency-Key");
    expect(lines).toContain("header\tAuthorization: Bearer …\n");
    await run(...apart);
    const sent = server.received.map(({ headers: { authorization, ...own } }) => {
      expect(authorization).toMatch(/^Bearer \S+$/);
      return own;
    });
    expect(requests.map(({ idempotency_key: key }: { idempotency_key: string }) => key)).toEqual(
      sent.map((own) => own["idempotency-key"]),
    );
    for (const [name, value] of Object.entries(headers)) {
      if (name === "Authorization") expect(value).toBe("Bearer …");
      else for (const own of sent) expect([name, own[name.toLowerCase()]]).toEqual([name, value]);
    }
  });

  it("says once that several requests at a time are faster, where the first of them took long", async () => {
    const late: Answer = (_, response) => void setTimeout(() => response.writeHead(200).end("{}"), 1100);
    const parts = [two(), "--split", "t", "--max-request-size", "110"];
    const noted = async (answers: readonly Answer[], ...more: readonly string[]) =>
      (await log([...parts, ...more], answers)).stderr.split("--concurrency").length - 1;
    expect(await noted([late, late])).toBe(1);
    expect(await noted([json("{}"), json("{}")])).toBe(0);
    expect(await noted([late, late], "--concurrency", "2")).toBe(0);
  });

  it("splits between groups into near-equal parts, and says so", async () => {
    const { stdout, received } = await log(
      [groups, "--split", "train", "--max-request-size", "800KB", "--json"],
      [json("{}"), json("{}")],
    );
    const document = parsed(stdout);
    expect(document).toMatchObject({ requests: 2, metrics: sampleMetrics });
    expect(rulesIn(document)).toContain("split-requests");
    const [a = 0, b = 0] = received.map(({ body }) => body.length);
    expect(Math.abs(a - b)).toBeLessThan(100_000);
  });

  it("takes standard input, compressed too, and files one behind the other", async () => {
    const { received } = await log(["-", two(), "--split", "t"], [json("{}")], { stdin: gzipSync(group(3)) });
    expect(received[0]?.body.toString()).toBe(
      `{"split":"t","trajectory_groups":[${group(3)},${group(1)},${group(2)}]}`,
    );
  });

  it("takes the split from the environment, or from the requests themselves", async () => {
    const split = async (args: readonly string[], env = {}) =>
      JSON.parse((await log(args, [json("{}")], { env })).received[0]?.body.toString() ?? "{}").split;
    expect(await split([two()], { ROLLCALL_SPLIT: "val" })).toBe("val");
    const [request = ""] = filesOf(`{"trajectory_groups":[${group(1)}],"split":"test"}`);
    expect(await split([request])).toBe("test");
  });

  it("logs to the service inside, and names the call to read next", async () => {
    const env = newHome();
    const { code, stdout } = await runRollcall(["log", "m", groups, "--split", "train", "--local"], { env });
    expect(code).toBe(0);
    const next = /^next\trollcall (call read \S+ --local)$/m.exec(stdout)?.[1]?.split(" ") ?? [];
    const call = await runRollcall([...next, "--json"], { env });
    expect({ code: call.code, call: parsed(call.stdout) }).toMatchObject({ code: 0, call: { call: { id: next[2] } } });
  });
});

describe("a run of rollcall log that fails", () => {
  const usage = async (args: readonly string[], options: RunOptions = {}) => {
    const { code, stdout, stderr } = await runRollcall(["log", ...args, "--json"], options);
    return { code, stdout, error: parsed(stderr) };
  };

  it("is usage where there is no split, no model, no address, or more than one request", async () => {
    const file = two();
    for (const args of [
      ["m", file],
      ["", file, "--split", "t"],
      ["m", file, "--split", "t"],
      ["m", file, "--split", "t", "--dry-run", "--max-request-size", "120", "--one-request"],
      ["m", "-", "-", "--split", "t", "--dry-run"],
    ]) {
      expect([args, await usage(args)]).toMatchObject([
        args,
        { code: 2, stdout: "", error: { error: { code: "usage" } } },
      ]);
    }
  });

  it("is invalid input where anything is wrong with it, with nothing sent", async () => {
    const [file = ""] = filesOf(`${group(1)}\n{"trajectories":[{"reward":NaN}]}\n`);
    const { code, stdout, stderr } = await log([file, "--split", "t", "--json"], []);
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(parsed(stderr)).toEqual({
      error: {
        code: "invalid_input",
        message: `${file}:2:28: NaN is not JSON [json-nan]`,
        exit_code: 3,
        retryable: false,
        hint: expect.stringContaining("allow_nan=False"),
        problems: [
          {
            file,
            line: 2,
            column: 28,
            path: [],
            rule: "json-nan",
            severity: "error",
            message: "NaN is not JSON",
            advice: expect.stringContaining("allow_nan=False"),
          },
        ],
      },
    });
  });

  it("says that what is valid can be sent without what is not, where there is any", async () => {
    const skip = "--on-invalid skip sends what is valid (1 group) and sets the rest aside";
    const hintOf = async (text: string) => {
      const { stderr } = await log([...filesOf(text), "--split", "t"], []);
      return /^hint: (.*)$/m.exec(stderr)?.[1];
    };
    expect(await hintOf(`${group(1)}\n{"trajectories":[{"reward":NaN}]}\n`)).toMatch(
      /\S; or --on-invalid skip sends what is valid \(1 group\) and sets the rest aside$/,
    );
    expect(await hintOf(`${group(1)}\n{"trajectories":{}}\n{"trajectories":1}\n`)).toBe(skip);
    expect(await hintOf('{"trajectories":{}}\n{"trajectories":1}\n')).toBeUndefined();
    // A request for another split can't be left out of its input.
    expect(await hintOf(`${group(1)}\n{"split":"u","trajectory_groups":[]}\n`)).not.toContain("--on-invalid");
  });

  it("names --on-invalid skip once, where the problem's own advice does", async () => {
    const row = { example_id: 0, prompt: "q", completion: "a", task: "t", reward: 1 };
    const rows = [row, { ...row, example_id: 1, reward: null }].map((one) => JSON.stringify(one));
    const { code, stderr } = await log([...filesOf(rows.join("\n")), "--split", "t"], []);
    expect([code, stderr.match(/--on-invalid skip/g)]).toEqual([3, ["--on-invalid skip"]]);
  });

  it("names groups that are larger than a request once, in the file that they were converted from", async () => {
    const rows = [0, 1, 2].map((at) => ({ example_id: at, prompt: "q", completion: "a".repeat(300 + at), task: "t" }));
    const [file = ""] = filesOf(rows.map((row) => JSON.stringify({ ...row, reward: 1 })).join("\n"));
    const { stderr } = await log([file, "--split", "t", "--dry-run", "--max-request-size", "250"], []);
    expect(stderr.match(/^.*\[group-over-limit\]\n.*$/gm)).toEqual([
      expect.stringMatching(/:1: warning: the group alone makes a request of \d+ bytes.*\n {2}and 2 more: :2, :3$/),
    ]);
    expect(stderr).toContain(`${file}:1: warning: the group alone`);
    expect(stderr).not.toContain("(as groups)");
  });

  it("counts the same number of requests whether one is tried again or settled", async () => {
    const again = { status: 503, headers: { "retry-after": "0" } };
    const parts = [two(), "--split", "t", "--max-request-size", "110", "--progress", "lines"];
    const { stderr } = await log(parts, [again, json("{}"), again, json("{}")]);
    expect(stderr.match(/request \d of \d/g)).toEqual(
      ["1 of 2", "1 of 2", "2 of 2", "2 of 2"].map((at) => `request ${at}`),
    );
  });

  it("says how the requests of one split are kept, where there are several", async () => {
    const [file = ""] = filesOf('{"split":"a","trajectory_groups":[]}\n{"split":"b","trajectory_groups":[]}\n');
    const { code, stderr } = await log([file], []);
    expect(code).toBe(2);
    expect(stderr).toContain("the requests are for different splits: a, b\n");
    expect(stderr).toContain("hint: a run has one split: keep the requests of one in a file of their own\n");
  });

  it("names at most 20 problems, and counts them all", async () => {
    const [file = ""] = filesOf('{"reward":"x"}\n'.repeat(30));
    const { stderr } = await log([file, "--split", "t", "--json"], []);
    const document = parsed(stderr);
    expect(document).toHaveProperty("error.problems.length", 20);
    expect(document).toHaveProperty("error.message", expect.stringContaining("60"));
  });

  const last: readonly (readonly [string, Answer, number, string])[] = [
    ["a refused credential", json({ detail: "no" }, 401), 4, "auth"],
    ["a forbidden one", json({ detail: "no" }, 403), 4, "auth"],
    ["a model that is not there", json({ detail: "no model" }, 404), 9, "not_found"],
    ["an address that knows no such path", { status: 404, body: "<html>" }, 6, "refused"],
    ["a request the service does not take", json({ detail: "bad" }, 400), 6, "refused"],
    ["a redirect", { status: 302, headers: { location: "/elsewhere" } }, 6, "refused"],
  ];

  it.each(last)("says %s", async (_, answer, exit, code) => {
    const alone = await log([two(), "--split", "t", "--json"], [answer]);
    expect({ code: alone.code, stdout: alone.stdout }).toEqual({ code: exit, stdout: "" });
    expect(parsed(alone.stderr)).toMatchObject({ error: { code, exit_code: exit, retryable: false } });
    // The same behind a request that was logged: partial, with the code of what stopped it.
    const behind = await log([two(), "--split", "t", "--max-request-size", "120", "--json"], [json("{}"), answer]);
    expect(behind.code).toBe(7);
    expect(parsed(behind.stderr)).toMatchObject({ error: { code: "partial", exit_code: 7, cause: code } });
    expect(parsed(behind.stdout)).toMatchObject({
      status: "partial",
      groups: { ...none, read: 2, logged: 1, not_sent: 1 },
    });
  });

  it("names the address and the preview path where nothing is there, and what helps after a 413", async () => {
    const gone = await log([two(), "--split", "t"], [{ status: 404, body: "nothing" }]);
    expect(gone.stderr).toContain("/v1/preview/models/m/log");
    const whole = await log([two(), "--split", "t", "--one-request"], [json({}, 413)]);
    expect([whole.code, whole.stderr]).toEqual([6, expect.stringContaining("without --one-request it is split")]);
    const [file = ""] = filesOf(`\n${group(1)}`);
    const alone = await log([file, "--split", "t"], [json({}, 413)]);
    expect([alone.code, alone.stderr]).toEqual([6, expect.stringContaining(`${file}:2`)]);
    expect(alone.stderr).toContain("--on-refused skip sets aside the groups that it refuses");
  });

  it("tries again what was not processed, and is unavailable where that does not help", async () => {
    const again = await log(
      [two(), "--split", "t"],
      [
        { status: 429, headers: { "retry-after-ms": "5" } },
        { status: 503, headers: { "retry-after": "0" } },
        json("{}"),
      ],
    );
    expect(again.code).toBe(0);
    const never = await log([two(), "--split", "t", "--json", "--max-wait", "0s"], [{ status: 429 }]);
    expect(never.code).toBe(5);
    expect(parsed(never.stderr)).toMatchObject({ error: { code: "unavailable", retryable: true } });
    const nobody = await usage(["m", two(), "--split", "t", "--max-wait", "0s"], {
      env: account("http://127.0.0.1:1"),
    });
    expect(nobody).toMatchObject({ code: 5, stdout: "", error: { error: { code: "unavailable" } } });
  });

  it("is unknown where no answer came after the whole body left", async () => {
    for (const answer of [json({}, 500), json({}, 409), ((_, response) => void response.destroy()) satisfies Answer]) {
      const { code, stdout, stderr } = await log([two(), "--split", "t", "--json"], [answer]);
      expect(code).toBe(8);
      expect(parsed(stdout)).toMatchObject({ status: "unknown", groups: { ...none, read: 2, unknown: 2 } });
      expect(parsed(stderr)).toMatchObject({
        error: { code: "unknown_outcome", message: expect.stringMatching(/:1 to .*:2/) },
      });
    }
  });

  it("names the next command with the words that make it work", async () => {
    const [file = ""] = filesOf(`${line(1).replace("{", '{"k":1,')}\n${line(2).replace("{", '{"k":2,')}\n{"k":3}\n`);
    const server = await scriptedServer([{ answer: json({ call_ids: ["c1"] }) }]);
    const env = { ...newHome(), ROLLCALL_TOKEN: "token-1234", ROLLCALL_PROJECT: "team/project" };
    const words = ["--split", "t", "--batch", "step 17", "--group-by", "k", "--no-ledger", "--base-url", server.url];
    const { stdout, stderr } = await runRollcall(["log", "m", file, ...words, "--on-invalid", "skip"], { env });
    expect(stdout).toContain(`next\trollcall call read c1 --base-url ${server.url}\n`);
    expect(stderr).toContain(
      `next: rollcall log m ${file}.rejected --split t --batch 'step 17' --group-by k --no-ledger --base-url ${server.url}\n`,
    );
    // A call is found in its project: without one there is no command to read it.
    const placeless = await log([two(), "--split", "t"], [json({ call_ids: ["c1"] })]);
    expect({ code: placeless.code, stdout: placeless.stdout }).toEqual({
      code: 0,
      stdout: expect.not.stringContaining("next"),
    });
  });

  it("is verified per model: what two models have is told apart, not sent again", async () => {
    const [env, file] = [newHome(), two()];
    for (const model of ["a", "b"]) await runRollcall(["log", model, file, "--split", "t", "--local"], { env });
    const both = await runRollcall(["ledger", "verify", file, "--local"], { env });
    expect(both.code).toBe(10);
    expect(both.stderr).toContain("2 logged more than once");
    expect(both.stderr).toMatch(/hint: .*--model/);
    expect(both.stderr).not.toContain("rollcall log");
    expect((await runRollcall(["ledger", "verify", file, "--local", "--model", "a"], { env })).code).toBe(0);
    const status = async () => (await runRollcall(["ledger", "status", file, "--local"], { env })).stderr;
    expect(await status()).toContain("2 groups: 2 logged, 0 logged more than once");
    await runRollcall(["log", "a", file, "--split", "t", "--local", "--resend-logged"], { env });
    expect(await status()).toContain("2 groups: 0 logged, 2 logged more than once");
  });

  it.each([".", ".."])("keeps no request of a model id that no address can be made of: %s", async (id) => {
    const env = { ...newHome(), ...account("http://127.0.0.1:1") };
    const { code, stdout, stderr } = await runRollcall(["log", id, two(), "--split", "t"], { env });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(`"${id}" can't be a model id`);
    expect((await runRollcall(["ledger", "status", "--json"], { env })).stdout).toBe('{"groups":null,"entries":[]}\n');
  });

  it.skipIf(!existsSync("/dev/full"))("says what was logged where its result can't be printed", async () => {
    const ends: readonly (readonly [Answer, number, string])[] = [
      [json("{}"), 11, "2 groups logged"],
      [json({}, 500), 8, "it is not known"],
    ];
    for (const [answer, code, words] of ends) {
      const server = await scriptedServer([{ answer }]);
      const line = `exec "$0" bin/rollcall.js log m "$1" --split t > /dev/full`;
      const child = spawn("sh", ["-c", line, process.execPath, two()], {
        env: { PATH: process.env.PATH, ...newHome(), ...account(server.url) },
      });
      const stderr = textOf(child.stderr);
      expect(await new Promise((settle) => child.on("close", settle))).toBe(code);
      expect(await stderr).toContain(words);
    }
  });

  it("takes a refusal back to the line", async () => {
    const [file = ""] = filesOf(`${group(1)}\n${group(2).replace("}]}", ',"metadata":{"deep":{}}}]}')}\n`);
    const items = [
      { loc: ["body", "trajectory_groups", 1, "trajectories", 0, "metadata", "deep"], msg: "not a string", type: "t" },
    ];
    const said = await log([file, "--split", "t", "--quiet"], [json({ detail: items }, 422)]);
    expect(said.stderr).toContain(
      `refused the request (422): ${file}:2:75: trajectories.0.metadata.deep: not a string [refused-by-service]\n`,
    );
    expect(said.stderr).toContain(
      "\nhint: fix what it names; or --on-refused skip sets aside the groups that it refuses",
    );
    const { code, stderr } = await log([file, "--split", "t", "--json"], [json({ detail: items }, 422)]);
    expect(code).toBe(6);
    expect(parsed(stderr)).toMatchObject({
      error: {
        code: "refused",
        http: { status: 422 },
        problems: [
          {
            file,
            line: 2,
            column: 75,
            path: ["trajectories", 0, "metadata", "deep"],
            from: "service",
            message: "not a string",
          },
        ],
      },
    });
  });

  it("says what a service means that complains of every branch of a union, and nothing of the others", async () => {
    const at = ["body", "trajectory_groups", 0, "trajectories", 0, "messages_and_choices", 0];
    const items = ["Developer", "System", "User", "Assistant"].map((name) => ({
      loc: [...at, `ChatCompletion${name}Message`, "content"],
      msg: `${name} content is wrong`,
      type: "t",
      input: { role: "user", content: "x".repeat(5000) },
    }));
    const [file = ""] = filesOf('{"trajectories":[{"messages_and_choices":[{"role":"user","content":1}],"reward":1}]}');
    const { stderr } = await log([file, "--split", "t"], [json({ detail: items }, 422)]);
    expect(stderr).toContain(
      `${file}:1:68: trajectories.0.messages_and_choices.0.content: User content is wrong [refused-by-service]`,
    );
    expect(stderr).not.toMatch(/Assistant content|Developer content|xxxx/);
  });

  it("takes a 407 for a proxy's, whoever answers it", async () => {
    const { code, stderr } = await log([two(), "--split", "t"], [json({}, 407)]);
    expect(code).toBe(6);
    expect(stderr).toContain("hint: a proxy in between asks for a password: HTTP_PROXY holds");
  });

  it("says why nobody knows whether a request was logged", async () => {
    const broken = await log([two(), "--split", "t"], [json({ detail: "no disk" }, 500)]);
    expect(broken.stderr).toContain(
      "it is not known whether request 1 of 1 was logged, since the service answered 500 (no disk): 2 groups",
    );
  });

  it("says whose metrics it prints where not all of their groups were logged", async (context) => {
    const service = await faultyService(context);
    service.next(accept, refuse(401));
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", linesOf(groupOf(1), groupOf(2), groupOf(6)));
    const { document } = await place.log([file, "--max-request-size", "120"]);
    expect(document).toMatchObject({ metrics: { "train/reward": 3 }, metrics_of: { groups: 3, logged: 1 } });
    service.next(refuse(401));
    const again = await place.run(["log", "m", file, "--split", "train"]);
    expect(again.stdout).toContain("metrics of\tall 3 valid groups of the input, 1 logged\ntrain/reward\t3\n");
    const whole = await place.log([file]);
    expect([whole.code, whole.document]).toEqual([0, expect.not.objectContaining({ metrics_of: expect.anything() })]);
  });

  it("says what broke the try that may have been logged, and beside it what the next ones met", async (context) => {
    const server = createServer();
    const service = await faultyService(context, { server });
    service.next(async (asked) => {
      await asked.body();
      server.close();
      asked.reset();
    });
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", linesOf(groupOf(1), groupOf(2)));
    const { code, error } = await place.log([file, "--on-unknown", "resend", "--max-wait", "1s"]);
    expect([code, error?.cause]).toEqual([8, "unavailable"]);
    expect(error?.message).toContain(
      "whether request 1 of 1 was logged, since the connection was reset (ECONNRESET), and when it was tried again nothing listens there (ECONNREFUSED): 2 groups",
    );
    const later = await place.log([file, "--on-unknown", "resend", "--max-wait", "0s"]);
    expect(later.error?.message).toContain(
      "whether request 1 of 1 was logged, and when it was tried again nothing listens there (ECONNREFUSED): 2 groups",
    );
  });

  it("leaves a document behind a signal, whatever it was doing", async () => {
    // A service that reads and never answers.
    let arrive = () => {};
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    const silent = createServer((socket) => {
      let text = "";
      socket
        .on("error", () => undefined)
        .on("data", (bytes) => {
          text += bytes.toString();
          // The end of the last group, and of the request.
          if (text.endsWith("]}]}")) arrive();
        });
    });
    const { url } = await listening(silent);
    const sending = startRollcall(["log", "m", two(), "--split", "t", "--json"], {
      env: account(url),
    });
    const document = textOf(sending.stdout);
    const said = textOf(sending.stderr);
    const stopped = new Promise<number | null>((resolve) => sending.on("close", resolve));
    await arrived;
    sending.kill("SIGTERM");
    expect(await stopped).toBe(8);
    expect(await said).toContain("was logged, since the run was told to stop before the answer came: 2 groups");
    expect(parsed(await document)).toMatchObject({ status: "unknown", groups: { ...none, read: 2, unknown: 2 } });
  });

  it.each(["standard input", "a pipe that nobody writes to"])("is interrupted while it reads %s", async (what) => {
    const pipe = join(newFolder(), "pipe");
    execFileSync("mkfifo", [pipe]);
    const input = what === "standard input" ? "-" : pipe;
    const { code, stdout, stderr } = await interruptWaiting(() => {
      const reading = startRollcall(["log", "m", input, "--split", "t", "--json", "--dry-run"]);
      if (input === "-") reading.stdin.on("error", () => undefined).write(group(1));
      return reading;
    });
    expect(code).toBe(130);
    expect(parsed(stdout)).toMatchObject({ status: "not_sent", groups: none });
    expect(parsed(stderr)).toMatchObject({ error: { message: "interrupted by SIGINT; nothing was sent" } });
  });

  it("keeps no file behind, and needs a place for standard input only", async () => {
    const TMPDIR = newFolder();
    await runRollcall(["log", "m", "--split", "t", "--dry-run"], { stdin: group(1), env: { TMPDIR } });
    expect(readdirSync(TMPDIR)).toEqual([]);
    const nowhere = await runRollcall(["check"], { stdin: group(1), env: { TMPDIR: join(TMPDIR, "none") } });
    expect(nowhere.code).toBe(0);
  });
});

/** What unpacks zstd; undefined where this Node can't. */
const unzstd = Reflect.get(zlib, "zstdDecompressSync") as ((bytes: Uint8Array) => Buffer) | undefined;

describe("a compressed request", () => {
  const forms = [
    ["gzip", gunzipSync],
    ["zstd", unzstd],
  ] as const;

  it.each(forms)(
    "of %s is the same body, packed; a try after the first has the same bytes and key",
    async (form, unpack) => {
      if (unpack === undefined) return;
      const args = [groups, "--split", "train"];
      const plain = await log(args, [json("{}")]);
      const { received, code } = await log(
        [...args, "--compress", form],
        [{ status: 429, headers: { "retry-after": "0" } }, json("{}")],
      );
      expect(code).toBe(0);
      const [first, second] = received;
      expect(first?.headers).toMatchObject({ "content-encoding": form, "content-length": String(first?.body.length) });
      expect(unpack(first?.body ?? Buffer.alloc(0)).equals(plain.received[0]?.body ?? Buffer.alloc(0))).toBe(true);
      expect(second?.body.equals(first?.body ?? Buffer.alloc(0))).toBe(true);
      expect(second?.headers["idempotency-key"]).toBe(first?.headers["idempotency-key"]);
    },
  );

  it("has the key of the same request as it is, whatever it is packed with", async () => {
    const env = { ...newHome(), ...account("http://127.0.0.1:9"), ROLLCALL_COMPRESS: "gzip" };
    const args = ["log", "m", two(), "--split", "t", "--dry-run"];
    const body = execFileSync(process.execPath, ["bin/rollcall.js", ...args, "--body", "1"], {
      env: { ...process.env, ...env },
    });
    expect(gunzipSync(body).toString()).toBe(`{"split":"t","trajectory_groups":[${group(1)},${group(2)}]}`);
    expect((await runRollcall([...args], { env })).stdout).toContain("header\tContent-Encoding: gzip\n");
  });

  it.each(forms)("of %s is logged by the service inside, and found again as it is", async (form, unpack) => {
    if (unpack === undefined) return;
    const env = newHome();
    const args = ["log", "m", groups, "--split", "train", "--local", "--json"];
    const packed = await runRollcall([...args, "--compress", form], { env });
    expect(parsed(packed.stdout)).toMatchObject({ status: "logged", metrics: sampleMetrics });
    expect(parsed((await runRollcall(args, { env })).stdout)).toMatchObject({ status: "already_logged" });
  });

  it("ends the run where a service takes none, and says what to leave off", async () => {
    const args = [
      two(),
      "--split",
      "t",
      "--compress",
      "gzip",
      "--on-refused",
      "skip",
      "--rejects",
      join(newFolder(), "r"),
    ];
    const { code, stderr } = await log(args, [json({ detail: "no encodings" }, 415)]);
    expect(code).toBe(6);
    expect(stderr).toContain("the service takes no requests compressed with gzip (415): no encodings");
    expect(stderr).toContain("--compress none");
  });

  it.runIf(unzstd === undefined)("needs a Node that can pack so, and says which", async () => {
    const { code, stderr } = await log([two(), "--split", "t", "--compress", "zstd"], []);
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("Node 22.15") });
  });
});
