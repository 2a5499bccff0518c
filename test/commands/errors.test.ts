import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, openSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { beforeAll, describe, expect, it } from "vitest";
import { exitCodes } from "../../src/failure.ts";
import { type CommandTree, readCommandTree } from "../support/command-tree.ts";
import { endOf, newHome, type RunOptions, runRollcall, startInTurn } from "../support/run.ts";
import { type Answer, json, scriptedServer } from "../support/server.ts";

/** A failing command: its arguments, the expected exit code, and the options of its run. */
interface FailingCommand extends RunOptions {
  readonly args: string;
  readonly code: number;
  /** The answers of the service, in order. `URL` in the environment is replaced by its URL. */
  readonly answers?: readonly Answer[];
  /** True if stdout has a document in spite of the error (output.md). */
  readonly hasResult?: boolean;
}

const folder = mkdtempSync(join(tmpdir(), "inputs-"));
const file = (name: string, content: string): string => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};
const group = (reward: unknown): string => `{"trajectories":[{"messages_and_choices":[],"reward":${reward}}]}\n`;
const good = file("good.jsonl", group(1));
const wrong = file("wrong.jsonl", group('"one"'));
const two = file("two.jsonl", group(1) + group(2));

const service = { ROLLCALL_BASE_URL: "URL", ROLLCALL_INFERENCE_BASE_URL: "URL", ROLLCALL_API_KEY: "key-1234" };
const calls = { ...service, ROLLCALL_PROJECT: "team/project" };
const nobody = "http://127.0.0.1:1";
const refusal = json({ detail: [{ loc: ["body", "split"], msg: "no", type: "t" }] }, 422);
const hangUp: Answer = (_, response) => void response.socket?.destroy();
const page: Answer = { headers: { "content-type": "text/html" }, body: "<h1>hello</h1>" };
const cutOff: Answer = (_, response) => {
  response.writeHead(200, { "content-type": "application/json", "content-length": "100" });
  response.write('{"data":[', () => response.socket?.destroy());
};

const failures: Readonly<Record<string, FailingCommand>> = {
  "an unknown command": { args: "modles", code: 2 },
  "a workflow command as its name": { args: "two\n::error::lines", code: 2 },
  "an invalid value": { args: "models --sort idd", code: 2 },
  "a missing argument": { args: "call read", code: 2 },
  "a noun without a verb": { args: "catalog", code: 2 },
  "an unknown profile": { args: "models --profile nobody-knows", code: 2 },
  "a missing URL": { args: "models", code: 2 },
  "a URL with a password": { args: "models --inference-base-url https://user:secret@h.example", code: 2 },
  "a key of two lines": { args: "models", code: 2, env: { ...service, ROLLCALL_API_KEY: "two\nlines" } },
  "a field that no entry has": { args: "models --fields idd", code: 2, env: service, answers: [json({ data: [{}] })] },
  "a missing file": { args: "log m missing.jsonl --split train", code: 3, env: service },
  "a folder without rollouts": { args: `check ${mkdtempSync(join(folder, "empty-"))}`, code: 3 },
  "an invalid group": { args: `check ${wrong}`, code: 3, hasResult: true },
  "no valid group": { args: `stats ${wrong} --on-invalid skip`, code: 3, hasResult: true },
  "no valid group on a side": { args: `compare ${good} ${wrong} --on-invalid skip`, code: 3, hasResult: true },
  "no key": { args: "models", code: 4, env: { ROLLCALL_INFERENCE_BASE_URL: nobody } },
  "a refused key": { args: "models", code: 4, env: service, answers: [json({ error: { message: "no" } }, 401)] },
  "a forbidden call": { args: "call read id", code: 4, env: calls, answers: [json({ reason: "no" }, 403)] },
  "no connection": { args: "models --max-wait 0s", code: 5, env: { ...service, ROLLCALL_INFERENCE_BASE_URL: nobody } },
  "a busy service": { args: "models --max-wait 0s", code: 5, env: service, answers: [{ status: 503, body: "down" }] },
  "a reply that is cut off": { args: "models --max-wait 0s", code: 5, env: service, answers: [cutOff] },
  "an HTML page": { args: "models", code: 6, env: service, answers: [page] },
  "a reply of another shape": { args: "models", code: 6, env: service, answers: [json({ models: [] })] },
  "a refused log": { args: `log m ${good} --split t`, code: 6, env: service, answers: [refusal], hasResult: true },
  "a refused second request": {
    args: `log m ${two} --split train --max-request-size 120`,
    code: 7,
    env: service,
    answers: [json({}), json({ detail: "no" }, 400)],
    hasResult: true,
  },
  "a lost reply": { args: `log m ${good} --split t`, code: 8, env: service, answers: [hangUp], hasResult: true },
  "a missing call": { args: "call read id", code: 9, env: calls, answers: [json({ call: null })] },
  "a missing call after another": {
    args: "call read id other",
    code: 9,
    env: calls,
    answers: [json({ call: { id: "id" } }), json({ call: null })],
    hasResult: true,
  },
  "a missing operation": { args: "models", code: 9, env: service, answers: [json({ detail: "Not Found" }, 404)] },
  "an unusable data folder": { args: "models --local", code: 11, env: { ROLLCALL_DATA_DIR: good } },
};

/** Runs the command against a new service, whose URL replaces `URL` in the environment. */
const failing = async ({ args, answers = [], env = {}, ...rest }: FailingCommand, ...more: readonly string[]) => {
  const server = await scriptedServer(answers.map((answer) => ({ answer })));
  const entries = Object.entries(env).map(([name, value]) => [name, value?.replace("URL", server.url)]);
  return await runRollcall([...args.split(" "), ...more], { ...rest, env: Object.fromEntries(entries) });
};

/** The members of every error document (output.md). */
const document = {
  code: expect.stringMatching(/^[a-z_]+$/),
  message: expect.stringMatching(/./),
  exit_code: expect.any(Number),
  retryable: expect.any(Boolean),
};

const allowed = ["code", "message", "exit_code", "retryable", "cause", "hint", "where", "http", "problems", "next"];

const codes: Readonly<Record<number, string>> = {
  1: "internal",
  2: "usage",
  3: "invalid_input",
  4: "auth",
  5: "unavailable",
  6: "refused",
  7: "partial",
  8: "unknown_outcome",
  9: "not_found",
  11: "storage",
  129: "interrupted",
  130: "interrupted",
  143: "interrupted",
};

/** Returns the error of a run. Standard error must contain only its JSON document, on one line. */
const errorOf = (stderr: string): Record<string, unknown> => {
  expect(stderr).toMatch(/^\{.*\}\n$/);
  const { error, ...others } = JSON.parse(stderr);
  expect(others).toEqual({});
  expect(error).toMatchObject(document);
  expect(Object.keys(error)).toEqual(allowed.filter((key) => key in error));
  return error;
};

describe("a failing command with --json", () => {
  it.each(Object.entries(failures))("prints one error document after %s", async (_, call) => {
    const { code, stdout, stderr } = await failing(call, "--json");
    expect(code).toBe(call.code);
    expect(errorOf(stderr)).toMatchObject({ code: codes[call.code], exit_code: call.code });
    if (call.hasResult === true) expect(JSON.parse(stdout)).toBeInstanceOf(Object);
    else expect(stdout).toBe("");
  });

  it("prints the same document for an unknown command with -o json", async () => {
    const { code, stdout, stderr } = await failing({ args: "modles", code: 2 }, "-o", "json");
    expect([code, stdout, errorOf(stderr).code]).toEqual([2, "", "usage"]);
  });

  it.each([
    ["SIGHUP", 129],
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("ends after %s with exit code %i and one error document", async (signal, code) => {
    const server = await scriptedServer([{ answer: () => child.kill(signal) }]);
    const child = startInTurn(["models", "--json"], {
      env: { ROLLCALL_INFERENCE_BASE_URL: server.url, ROLLCALL_API_KEY: "key-1234" },
    });
    const { stderr, ...ended } = await endOf(child);
    expect(ended).toEqual({ code, stdout: "" });
    expect(errorOf(stderr)).toMatchObject({ code: "interrupted", exit_code: code });
  });

  it("reports an internal defect with exit code 1 and a hint to report the defect", async () => {
    const planted = "data:text/javascript,Date.now=()=>{throw new Error('planted')}";
    const { code, stdout, stderr } = await runRollcall(["catalog", "router", "--local", "--json"], {
      env: { NODE_OPTIONS: `--import "${planted}"` },
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(errorOf(stderr)).toMatchObject({
      code: "internal",
      message: expect.stringContaining("planted"),
      hint: expect.stringContaining("report"),
    });
  });

  it("writes no second output over the file of standard output", async () => {
    const printed = join(folder, "printed.json");
    const args = ["convert", good, "--out", printed, "--json"];
    const child = spawn(process.execPath, [resolve("bin/rollcall.js"), ...args], {
      stdio: ["ignore", openSync(printed, "w"), "pipe"],
      env: { PATH: process.env.PATH, ...newHome() },
    });
    const stderr = child.stderr === null ? "" : text(child.stderr);
    expect(await new Promise((settle) => child.on("close", settle))).toBe(2);
    const message = expect.stringMatching(/^cannot combine standard output and .*: both are the same file$/);
    expect(errorOf(await stderr)).toMatchObject({ code: "usage", message });
  });

  it.skipIf(!existsSync("/dev/full"))("exits with 11 if stdout goes to a full disk", async () => {
    const full = openSync("/dev/full", "w");
    for (const args of [["--version"], ["--help"], ["config", "list"]]) {
      const child = spawn(process.execPath, [resolve("bin/rollcall.js"), ...args, "--json"], {
        stdio: ["ignore", full, "pipe"],
        env: { PATH: process.env.PATH, ...newHome() },
      });
      const stderr = child.stderr === null ? "" : text(child.stderr);
      expect(await new Promise((settle) => child.on("close", settle))).toBe(11);
      const message = "cannot write standard output: the disk is full";
      const hint = "free disk space, or write to another disk";
      expect(errorOf(await stderr)).toMatchObject({ code: "storage", message, hint });
    }
  });
});

describe("a failing command without --json", () => {
  let tree: CommandTree;
  beforeAll(async () => {
    tree = await readCommandTree();
  });

  it("does not print the value of an option that takes no value, because the value may be a key", async () => {
    const { code, stderr } = await runRollcall(["auth", "login", "--with-token=sesame-1234"]);
    expect(code).toBe(2);
    expect(stderr).toContain("rollcall: --with-token takes no value\n");
    expect(stderr).not.toContain("sesame");
  });

  it.each(Object.entries(failures))("prints a message, and hints at existing options, after %s", async (_, call) => {
    const { code, stderr } = await failing(call);
    expect(code).toBe(call.code);
    expect(stderr).not.toMatch(/undefined|\[object|NaN is not a|\n\s+at .*:\d+:\d+\)/);
    expect(stderr).toMatch(/^rollcall: |^Usage: |\nUsage: |\nrollcall: /);
    const hints = Array.from(stderr.matchAll(/^hint: (.*)$/gm), ([, hint = ""]) => hint);
    const unknown = hints.flatMap((hint) => tree.unknownIn(hint, call.args.split(" ")));
    // `serve` and --local share the hint about the folder of the local service, but only `serve` has the option.
    expect(unknown.filter((name) => name !== "--data-dir")).toEqual([]);
  });
});

describe("this file", () => {
  it("has a test for every exit code", () => {
    const tried = Object.values(failures).map(({ code }) => code);
    // These codes have other tests. The test of `differs` is in test/promises/unknown-requests.test.ts.
    const apart = [exitCodes.internal, exitCodes.differs, ...Object.values(exitCodes.interrupted)];
    const all = Object.values(exitCodes).flatMap((code) => (typeof code === "number" ? [code] : Object.values(code)));
    expect(new Set([...tried, ...apart])).toEqual(new Set(all));
  });
});
