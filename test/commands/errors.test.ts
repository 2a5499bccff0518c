import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, openSync, writeFileSync } from "node:fs";
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
  readonly args: readonly string[];
  readonly code: number;
  /** The answers of the service, in order. `URL` in argv and the environment is replaced by its URL. */
  readonly answers?: readonly Answer[];
  /** True if stdout has a document in spite of the error (output.md). */
  readonly hasResult?: boolean;
}

const folder = mkdtempSync(join(tmpdir(), "inputs-"));
const file = (name: string, content: string | Uint8Array): string => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};
const group = (reward: unknown): string => `{"trajectories":[{"messages_and_choices":[],"reward":${reward}}]}\n`;
const good = file("good.jsonl", group(1));
const two = file("two.jsonl", group(1) + group(2));
mkdirSync(join(folder, "directory"));

const service = { ROLLCALL_BASE_URL: "URL", ROLLCALL_INFERENCE_BASE_URL: "URL", ROLLCALL_API_KEY: "key-1234" };
const calls = { ...service, ROLLCALL_PROJECT: "team/project" };
const nobody = "http://127.0.0.1:1";
const hangUp: Answer = (_, response) => void response.socket?.destroy();
const cutOff: Answer = (_, response) => {
  response.writeHead(200, { "content-type": "application/json", "content-length": "100" });
  response.write('{"data":[', () => response.socket?.destroy());
};

const usage: readonly FailingCommand[] = [
  { args: ["modles"], code: 2 },
  { args: ["models", "--sotr", "id"], code: 2 },
  { args: ["two\n::error::lines"], code: 2 },
  { args: ["models", "one", "two"], code: 2 },
  { args: ["models", "--sort"], code: 2 },
  { args: ["models", "--sort", "idd"], code: 2 },
  { args: ["models", "-o", "yaml"], code: 2 },
  { args: ["models", "-o", "csv"], code: 2 },
  { args: ["models", "--fields", ","], code: 2 },
  { args: ["models", "--timeout", "soon"], code: 2 },
  { args: ["models", "--profile", "nobody-knows"], code: 2 },
  { args: ["models", "--local", "--base-url", "https://h.example"], code: 2 },
  { args: ["models", "--inference-base-url", "h.example"], code: 2 },
  { args: ["models", "--inference-base-url", "http://h.example"], code: 2, env: { ROLLCALL_API_KEY: "key-1234" } },
  { args: ["models", "--inference-base-url", "https://user:secret@h.example"], code: 2 },
  { args: ["models"], code: 2 },
  { args: ["models"], code: 2, env: { ...service, ROLLCALL_API_KEY: "two\nlines" } },
  { args: ["catalog"], code: 2 },
  { args: ["call"], code: 2 },
  { args: ["call", "read"], code: 2 },
  { args: ["call", "read", "id"], code: 2 },
  { args: ["call", "read", "id", "--project", "noslash"], code: 2 },
  { args: ["log"], code: 2 },
  { args: ["log", "m", good], code: 2 },
  { args: ["log", "m", good, "--split", "train", "--max-request-size", "large"], code: 2 },
  { args: ["config", "set", "no-such-setting", "1"], code: 2 },
  { args: ["completion", "tcsh"], code: 2 },
  { args: ["serve", "--port", "70000"], code: 2 },
];

const input: readonly FailingCommand[] = [
  { args: ["log", "m", "missing.jsonl", "--split", "train"], code: 3, env: service },
  { args: ["log", "m", join(folder, "directory"), "--split", "train"], code: 3, env: service },
  { args: ["log", "m", file("empty.jsonl", ""), "--split", "train"], code: 3, env: service },
  { args: ["log", "m", file("nan.jsonl", group("NaN")), "--split", "train"], code: 3, env: service },
  { args: ["log", "m", file("cut.jsonl", group(1).slice(0, -9)), "--split", "train"], code: 3, env: service },
  {
    args: ["log", "m", file("utf16.jsonl", Buffer.from(`\ufeff${group(1)}`, "utf16le")), "--split", "train"],
    code: 3,
    env: service,
  },
  { args: ["check", "missing.jsonl"], code: 3 },
  { args: ["check", file("wrong.jsonl", group('"one"'))], code: 3, hasResult: true },
];

const answered: readonly FailingCommand[] = [
  { args: ["models"], code: 4, env: { ROLLCALL_INFERENCE_BASE_URL: nobody } },
  { args: ["models"], code: 4, env: service, answers: [json({ error: { message: "no" } }, 401)] },
  { args: ["call", "read", "id"], code: 4, env: calls, answers: [json({ reason: "no" }, 403)] },
  { args: ["models", "--max-wait", "0s"], code: 5, env: { ...service, ROLLCALL_INFERENCE_BASE_URL: nobody } },
  { args: ["models", "--max-wait", "0s"], code: 5, env: service, answers: [{ status: 503, body: "down" }] },
  { args: ["models", "--max-wait", "0s"], code: 5, env: service, answers: [cutOff] },
  {
    args: ["models"],
    code: 6,
    env: service,
    answers: [{ headers: { "content-type": "text/html" }, body: "<h1>hello</h1>" }],
  },
  { args: ["models"], code: 6, env: service, answers: [json({ models: [] })] },
  { args: ["models", "--fields", "idd"], code: 2, env: service, answers: [json({ data: [{ id: "a" }] })] },
  {
    args: ["log", "m", good, "--split", "train"],
    code: 6,
    hasResult: true,
    env: service,
    answers: [json({ detail: [{ loc: ["body", "split"], msg: "no", type: "t" }] }, 422)],
  },
  {
    args: ["log", "m", two, "--split", "train", "--max-request-size", "120"],
    code: 7,
    env: service,
    answers: [json({}), json({ detail: "no" }, 400)],
    hasResult: true,
  },
  { args: ["log", "m", good, "--split", "train"], code: 8, env: service, answers: [hangUp], hasResult: true },
  { args: ["call", "read", "id"], code: 9, env: calls, answers: [json({ call: null })] },
  {
    args: ["call", "read", "id", "other"],
    code: 9,
    env: calls,
    answers: [json({ call: { id: "id" } }), json({ call: null })],
    hasResult: true,
  },
  { args: ["models"], code: 9, env: service, answers: [json({ detail: "Not Found" }, 404)] },
  { args: ["models", "--local"], code: 11, env: { ROLLCALL_DATA_DIR: good } },
];

/** Runs the command against a new service, whose URL replaces `URL` in argv and the environment. */
const failing = async ({ args, answers = [], env = {}, ...rest }: FailingCommand, ...more: readonly string[]) => {
  const server = await scriptedServer(answers.map((answer) => ({ answer })));
  const at = (word: string | undefined) => word?.replace("URL", server.url);
  return await runRollcall([...args.map((word) => at(word) ?? ""), ...more], {
    ...rest,
    env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, at(value)])),
  });
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
  it.each([...usage, ...input, ...answered])(
    "exits with $code for $args, and prints one error document",
    async (call) => {
      const { code, stdout, stderr } = await failing(call, "--json");
      expect(code).toBe(call.code);
      expect(errorOf(stderr)).toMatchObject({ code: codes[call.code], exit_code: call.code });
      if (call.hasResult === true) expect(JSON.parse(stdout)).toBeInstanceOf(Object);
      else expect(stdout).toBe("");
    },
  );

  it("prints the same document for an unknown command with -o json", async () => {
    const { code, stdout, stderr } = await failing({ args: ["modles"], code: 2 }, "-o", "json");
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

  it.each([...usage, ...input, ...answered])(
    "exits with $code for $args, with a message or the usage, and with hints that name only existing options",
    async (call) => {
      const { code, stderr } = await failing(call);
      expect(code).toBe(call.code);
      expect(stderr).not.toMatch(/undefined|\[object|NaN is not a|\n\s+at .*:\d+:\d+\)/);
      expect(stderr).toMatch(/^rollcall: |^Usage: |\nUsage: |\nrollcall: /);
      const hints = Array.from(stderr.matchAll(/^hint: (.*)$/gm), ([, hint = ""]) => hint);
      const unknown = hints.flatMap((hint) => tree.unknownIn(hint, call.args));
      // `serve` and --local share the hint about the folder of the local service, but only `serve` has the option.
      expect(unknown.filter((name) => name !== "--data-dir")).toEqual([]);
    },
  );
});

describe("this file", () => {
  it("has a test for every exit code", () => {
    const tried = [...usage, ...input, ...answered].map(({ code }) => code);
    // These codes have other tests. The test of `differs` is in test/promises/unknown-requests.test.ts.
    const apart = [exitCodes.internal, exitCodes.storage, exitCodes.differs, ...Object.values(exitCodes.interrupted)];
    const all = Object.values(exitCodes).flatMap((code) => (typeof code === "number" ? [code] : Object.values(code)));
    expect(new Set([...tried, ...apart])).toEqual(new Set(all));
  });
});

describe("a malformed URL with a password", () => {
  it.each(["https:/user:hunter2@host", "https://ho st/user:hunter2@x", "https:user:hunter2@host"])(
    "is not repeated in a message or a hint: %s",
    async (url) => {
      const lines = [
        ["config", "set", "base_url", url],
        ["models", "--inference-base-url", url],
        ["check", url],
        ["doctor"],
      ];
      for (const args of lines) {
        for (const more of [[], ["--json"]]) {
          const env = { ...newHome(), ROLLCALL_BASE_URL: url };
          const { code, stdout, stderr } = await runRollcall([...args, ...more], { env });
          expect([2, 3]).toContain(code);
          expect(stdout + stderr).not.toContain("hunter2");
        }
      }
    },
  );
});
