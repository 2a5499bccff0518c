import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, closeSync, constants, mkdtempSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CredentialUse } from "../../src/contract/endpoint.ts";
import { Failure } from "../../src/failure.ts";
import { readSettings } from "../../src/settings/index.ts";
import { failureOf, openRoom, type RoomOptions, sleepFor } from "./open.ts";

const origin = "https://a.example";
const asked = { origin, refused: false };

const credentialOf = async (use: CredentialUse, options: RoomOptions, at = origin) =>
  await (await openRoom(options).read()).credential(use, { origin: at, refused: false });

const sourceOf = async (use: CredentialUse, options: RoomOptions) =>
  await (await openRoom(options).read()).credentialSource(use, origin);

/** A file below a temporary folder. */
const fileOf = (bytes: string | Uint8Array): string => {
  const file = join(mkdtempSync(join(tmpdir(), "key-")), "key");
  writeFileSync(file, bytes);
  return file;
};

const everywhere = (key: string) => ({
  log: { key: `${key}-log`, origin },
  inference: { key: `${key}-inference`, origin },
  calls: { key: `${key}-calls`, origin, username: "anna" },
});

describe("a credential of the environment", () => {
  it("is the use's own, else the API key", async () => {
    const env = { ROLLCALL_API_KEY: "api-key-1", ROLLCALL_TOKEN: "token-1", ROLLCALL_PASSWORD: "password-1" };
    const of = async (use: CredentialUse, variables: Record<string, string>) =>
      await credentialOf(use, { env: variables });
    expect(await of("log", env)).toEqual({ scheme: "bearer", token: "token-1", from: "ROLLCALL_TOKEN" });
    expect(await of("inference", env)).toEqual({ scheme: "bearer", token: "api-key-1", from: "ROLLCALL_API_KEY" });
    expect(await of("calls", { ...env, ROLLCALL_USERNAME: "anna" })).toEqual({
      scheme: "basic",
      username: "anna",
      password: "password-1",
      from: "ROLLCALL_PASSWORD",
    });
    const only = { ROLLCALL_API_KEY: "api-key-1", ROLLCALL_TOKEN: "", ROLLCALL_PASSWORD: "" };
    expect(await of("log", only)).toMatchObject({ token: "api-key-1" });
    expect(await of("calls", only)).toMatchObject({ username: "api", password: "api-key-1" });
  });

  it("goes to whatever address is in force", async () => {
    const env = { ROLLCALL_API_KEY: "api-key-1" };
    expect(await credentialOf("log", { env }, "https://elsewhere.example")).toMatchObject({ token: "api-key-1" });
  });

  it.each([
    ["key-1234", "key-1234"],
    ["key-1234\n", "key-1234"],
    ["key-1234\r\n", "key-1234"],
  ])("is read from a file: %j", async (bytes, token) => {
    const env = { ROLLCALL_API_KEY_FILE: fileOf(bytes) };
    expect(await credentialOf("log", { env })).toEqual({
      scheme: "bearer",
      token,
      from: "the file that ROLLCALL_API_KEY_FILE names",
    });
  });

  it.each([
    ["line-end", "key-1234\n\n"],
    ["line-end", "key-1234\nkey-5678"],
    ["control", "key-1234\u0000"],
    ["control", "\u001b[31mkey-1234"],
    ["white-space", "Bearer key-1234"],
    ["not-ascii", "\ufeffkey-1234"],
    ["not-ascii", "kéy-1234"],
    ["empty", "\n"],
    ["long", "x".repeat(70_000)],
  ])("that can't be sent (%s) is refused without being shown", async (wrong, text) => {
    const env = { ROLLCALL_API_KEY_FILE: fileOf(text) };
    const room = openRoom({ env });
    const settings = await room.read();
    const failure = await failureOf(() => settings.credential("log", asked));
    expect(failure).toMatchObject({
      reason: "credential-unusable",
      code: "usage",
      data: { wrong },
      where: { environment: "ROLLCALL_API_KEY_FILE", file: env.ROLLCALL_API_KEY_FILE },
    });
    expect(JSON.stringify(failure)).not.toContain("1234");
    if (wrong !== "long" && text !== "\n" && text !== "key-1234\n\n") expect(room.hidden).toContain(text);
    if (/^[ -~\n]+$/.test(text) && text.trim() !== "" && wrong !== "long") {
      const variable = await failureOf(() => credentialOf("log", { env: { ROLLCALL_API_KEY: text } }));
      expect(variable).toMatchObject({ data: { from: "ROLLCALL_API_KEY", wrong } });
    }
  });

  it("may not be given twice", async () => {
    for (const [use, variable] of [
      ["log", "ROLLCALL_TOKEN"],
      ["inference", "ROLLCALL_API_KEY"],
      ["calls", "ROLLCALL_PASSWORD"],
    ] as const) {
      const env = { [variable]: "key-1234", [`${variable}_FILE`]: fileOf("key-1234") };
      expect(await failureOf(() => credentialOf(use, { env }))).toMatchObject({
        reason: "credential-twice",
        code: "usage",
        data: { variable, fileVariable: `${variable}_FILE` },
      });
    }
  });

  it.each([
    ["ENOENT", () => join(tmpdir(), "nothing-here")],
    ["EISDIR", () => mkdtempSync(join(tmpdir(), "folder-"))],
    ["ENOTDIR", () => join(fileOf("x"), "below")],
  ])("in a file that can't be read (%s) is named with its file", async (code, file) => {
    const env = { ROLLCALL_TOKEN_FILE: file() };
    expect(await failureOf(() => credentialOf("log", { env }))).toMatchObject({
      reason: "credential-file-unreadable",
      code: "usage",
      data: { variable: "ROLLCALL_TOKEN_FILE", file: env.ROLLCALL_TOKEN_FILE, code },
    });
  });

  it("is read once, from a pipe too, and a pipe that nobody writes to holds nothing up", async () => {
    const pipe = join(mkdtempSync(join(tmpdir(), "pipe-")), "key");
    execFileSync("mkfifo", [pipe]);
    const env = { ROLLCALL_API_KEY_FILE: pipe };
    expect(await failureOf(() => credentialOf("log", { env }))).toMatchObject({ data: { wrong: "empty" } });
    const writer = spawn("/bin/sh", ["-c", 'exec 3>"$1"; echo ready; sleep 0.2; echo key-1234 >&3', "sh", pipe]);
    const settings = await openRoom({ env }).read();
    // The writer is there once it could open the pipe, which takes somebody who reads.
    const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
    await once(writer.stdout, "data");
    const [log, inference] = await Promise.all([
      settings.credential("log", asked),
      settings.credential("inference", asked),
    ]);
    closeSync(reader);
    expect([log, inference]).toEqual([
      expect.objectContaining({ token: "key-1234" }),
      expect.objectContaining({ token: "key-1234" }),
    ]);
  });

  it("has a user name that Basic can carry", async () => {
    const env = { ROLLCALL_API_KEY: "api-key-1", ROLLCALL_USERNAME: "a:b" };
    expect(await failureOf(() => credentialOf("calls", { env }))).toMatchObject({
      reason: "setting-wrong",
      where: { environment: "ROLLCALL_USERNAME" },
    });
    expect(await credentialOf("log", { env })).toMatchObject({ token: "api-key-1" });
  });
});

describe("a saved credential", () => {
  const logins = { default: everywhere("saved"), work: everywhere("work") };
  const profiles = { work: {} };

  it("goes behind the environment's and before a command's", async () => {
    const env = { ROLLCALL_CREDENTIAL_COMMAND: "false" };
    expect(await credentialOf("log", { logins, env })).toEqual({
      scheme: "bearer",
      token: "saved-log",
      from: "login of the profile default",
    });
    expect(await credentialOf("log", { logins, env: { ...env, ROLLCALL_API_KEY: "env-key" } })).toMatchObject({
      token: "env-key",
    });
    expect(await credentialOf("calls", { logins })).toMatchObject({ username: "anna", password: "saved-calls" });
    expect(await credentialOf("calls", { logins, env: { ROLLCALL_USERNAME: "bert" } })).toMatchObject({
      username: "bert",
    });
  });

  it("of a profile that was named on the command line goes before the environment's, with a notice", async () => {
    const env = { ROLLCALL_API_KEY: "env-key", ROLLCALL_USERNAME: "bert" };
    const room = openRoom({ logins, profiles, env, flags: { profile: "work" } });
    const settings = await room.read();
    expect(await settings.credential("calls", asked)).toMatchObject({ username: "anna", password: "work-calls" });
    expect(room.notices).toEqual(["not used: ROLLCALL_API_KEY; the profile work has its own credential for calls"]);
    const named = openRoom({ profiles, env, flags: { profile: "work" } });
    expect(await (await named.read()).credential("log", asked)).toMatchObject({ token: "env-key" });
    expect(named.notices).toEqual([]);
  });

  it("goes only to the origin that its use had at login", async () => {
    for (const at of ["https://b.example", "http://a.example", "https://a.example:8443"]) {
      expect(await failureOf(() => credentialOf("log", { logins }, at))).toMatchObject({
        reason: "credential-elsewhere",
        code: "auth",
        data: { use: "log", origin: at, boundTo: origin, profile: "default" },
      });
    }
    const settings = await openRoom({ logins }).read();
    expect(await settings.credentialSource("log", "https://b.example")).toMatchObject({
      state: "elsewhere",
      boundTo: origin,
    });
  });

  it("that a person broke by hand is named by its place, without its content", async () => {
    const room = openRoom({ logins: { default: { log: { key: 17, origin } } } });
    const failure = await failureOf(async () => (await room.read()).credential("log", asked));
    expect(failure).toMatchObject({
      reason: "settings-broken",
      code: "usage",
      where: { file: room.file("credentials.json"), line: 1 },
    });
    const spoiled = openRoom();
    writeFileSync(spoiled.file("credentials.json"), '{"profiles": {"default": secret-key-1234', { mode: 0o600 });
    const broken = await failureOf(async () => (await spoiled.read()).credential("log", asked));
    expect(broken).toMatchObject({ reason: "settings-broken", where: { line: 1, column: 26 } });
    expect(JSON.stringify(broken)).not.toContain("1234");
  });

  it("in a file that others can read is used with a warning that mends it", async () => {
    const room = openRoom({ logins });
    chmodSync(room.file("credentials.json"), 0o644);
    const settings = await room.read();
    await settings.credential("log", asked);
    await settings.credential("inference", asked);
    expect(room.warnings).toEqual([
      {
        file: room.file("credentials.json"),
        rule: "loose-mode",
        severity: "warning",
        message: `other users can get at ${room.file("credentials.json")} (mode 0644)`,
        advice: `chmod 600 ${room.file("credentials.json")}`,
      },
    ]);
  });

  it("that is missing says how to log in", async () => {
    expect(await failureOf(() => credentialOf("log", {}))).toMatchObject({
      reason: "credential-missing",
      code: "auth",
      data: { use: "log", origin, profile: "default" },
    });
  });
});

describe("a credential command", () => {
  const node = (script: string): string => `${process.execPath} -e '${script}'`;
  const withCommand = (line: string, more: RoomOptions = {}): RoomOptions => ({
    ...more,
    profiles: { default: { credential_command: line } },
  });

  it("is run with the use and the origin, and its first line is the key", async () => {
    const line = node("console.log(process.env.ROLLCALL_USE + process.env.ROLLCALL_ORIGIN); console.log(2)");
    expect(await credentialOf("log", withCommand(line))).toEqual({
      scheme: "bearer",
      token: `log${origin}`,
      from: "credential_command of the profile default",
    });
    expect(await sourceOf("calls", withCommand(line))).toMatchObject({ state: "command", username: "api" });
  });

  it("is run for each origin: what it gave for one goes to no other", async () => {
    const line = node("console.log(process.env.ROLLCALL_ORIGIN)");
    const settings = await openRoom(withCommand(line)).read();
    for (const at of ["https://a.example", "https://b.example", "https://a.example"])
      expect(await settings.credential("log", { origin: at, refused: false })).toMatchObject({ token: at });
  });

  it("is told none of rollcall's own keys", async () => {
    const line = node(
      "console.log(Object.keys(process.env).filter((name) => /KEY|TOKEN|PASSWORD/.test(name)).join() + 1)",
    );
    const env = {
      ROLLCALL_LOCAL_KEY: "local-key",
      ROLLCALL_PASSWORD: "password",
      OTHER_KEY: "other",
      ROLLCALL_API_KEY_FILE: "/no/such/file",
    };
    expect(await credentialOf("log", withCommand(line, { flags: { profile: "default" }, env }))).toMatchObject({
      token: "OTHER_KEY1",
    });
  });

  it("gets its words as a command line has them, without a shell", async () => {
    const script = join(mkdtempSync(join(tmpdir(), "command-")), "words.mjs");
    const answer = 'Buffer.from(JSON.stringify(process.argv.slice(2))).toString("base64")';
    writeFileSync(script, `console.log(${answer})`);
    const wordsOf = async (line: string): Promise<unknown> => {
      const credential = await credentialOf("log", withCommand(`${process.execPath} ${script} ${line}`));
      const token = credential.scheme === "bearer" ? credential.token : "";
      return JSON.parse(Buffer.from(token, "base64").toString());
    };
    expect(await wordsOf(`a  'b c' "d \\" e" f\\ g '' "" $HOME * ~ \`x\` ; | > "\\$x" "\\n" 'it'"'"'s' h"i"j`)).toEqual(
      [...["a", "b c", 'd " e', "f g", "", "", "$HOME", "*", "~", "`x`", ";", "|", ">", "$x", "\\n", "it's", "hij"]],
    );
    const single = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;
    const double = (word: string) => `"${word.replace(/["\\$`]/g, "\\$&")}"`;
    const slashed = (word: string) => (word === "" ? "''" : word.replace(/./gsu, "\\$&"));
    const word = fc.string({ unit: fc.constantFrom("a", " ", "'", '"', "\\", "$", "`", "é", "*"), maxLength: 6 });
    const quoting = fc.constantFrom(single, double, slashed);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(word, quoting), { minLength: 1, maxLength: 8 }), async (words) => {
        expect(await wordsOf(words.map(([text, quote]) => quote(text)).join("  "))).toEqual(
          words.map(([text]) => text),
        );
      }),
      { numRuns: 15 },
    );
  });

  it("runs once for a use, and once more when its key was refused", async () => {
    const counted = join(mkdtempSync(join(tmpdir(), "count-")), "runs");
    writeFileSync(counted, "");
    const line = node(
      `require("fs").appendFileSync("${counted}", "x"); console.log("key" + require("fs").statSync("${counted}").size)`,
    );
    const settings = await openRoom(withCommand(line)).read();
    const token = async (refused: boolean) => await settings.credential("log", { origin, refused });
    const [first, second] = await Promise.all([token(false), token(false)]);
    expect([first, second]).toEqual([
      expect.objectContaining({ token: "key1" }),
      expect.objectContaining({ token: "key1" }),
    ]);
    expect(await token(true)).toMatchObject({ token: "key2" });
    expect(await token(true)).toMatchObject({ token: "key2" });
    expect(await token(false)).toMatchObject({ token: "key2" });
    expect(readFileSync(counted, "utf8")).toBe("xx");
  });

  it("leaves other credentials what they are when they are refused", async () => {
    const settings = await openRoom({ env: { ROLLCALL_API_KEY: "env-key" } }).read();
    const before = await settings.credential("log", asked);
    expect(await settings.credential("log", { origin, refused: true })).toBe(before);
  });

  it.each([
    [
      "that fails",
      node('console.log("key-1234"); console.error("key-1234"); process.exit(3)'),
      { kind: "status", status: 3 },
    ],
    [
      "that is killed",
      node('process.kill(process.pid, "SIGKILL"); setTimeout(() => {}, 9000)'),
      { kind: "signal", signal: "SIGKILL" },
    ],
    ["that there is not", "rollcall-no-such-program --key key-1234", { kind: "not-started", code: "ENOENT" }],
    ["that prints nothing", node(""), { kind: "unusable", wrong: "empty" }],
    ["that prints an empty line first", node('console.log("\\nkey-1234")'), { kind: "unusable", wrong: "empty" }],
    ["that prints two words", node('console.log("Bearer key-1234")'), { kind: "unusable", wrong: "white-space" }],
  ])("%s is an auth failure, and nothing of what it said is told", async (_, line, end) => {
    const failure = await failureOf(() => credentialOf("log", withCommand(line)));
    expect(failure).toMatchObject({ reason: "credential-command-failed", code: "auth", data: { end } });
    expect(JSON.stringify(failure)).not.toContain("1234");
  });

  it("is not waited for when it left a program behind that holds its output", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "left-")), "pid");
    const line = node(
      `const {pid} = require("child_process").spawn("sleep", ["600"], {stdio: ["ignore", "inherit", "ignore"], detached: true}); require("fs").writeFileSync("${file}", String(pid)); console.log("key-1234"); process.exit()`,
    );
    const credential = await credentialOf("log", withCommand(line));
    // It is still there: there is no process to end otherwise, which throws.
    process.kill(Number(readFileSync(file, "utf8")), "SIGKILL");
    expect(credential).toMatchObject({ token: "key-1234" });
  });

  it("is ended after a minute", async () => {
    const { sources } = openRoom(withCommand(node("setTimeout(() => {}, 50000)")));
    const slept: number[] = [];
    const sleep = async (ms: number): Promise<void> => {
      slept.push(ms);
      await sleepFor(20);
    };
    const settings = await readSettings({ ...sources, host: { ...sources.host, sleep } });
    expect(await failureOf(() => settings.credential("log", asked))).toMatchObject({
      code: "auth",
      data: { end: { kind: "time-out" } },
    });
    expect(slept[0]).toBe(60_000);
  });

  it("is ended when the run is interrupted", async () => {
    const { sources } = openRoom(withCommand(node("setTimeout(() => {}, 50000)")));
    const abort = new AbortController();
    const settings = await readSettings({ ...sources, host: { ...sources.host, signal: abort.signal } });
    const failure = failureOf(() => settings.credential("log", asked));
    setTimeout(() => abort.abort(new Failure("interrupted", { signal: "SIGINT" })), 50);
    expect((await failure).reason).toBe("interrupted");
  });

  it("of a profile named on the command line goes before the environment's credential", async () => {
    const profiles = { work: { credential_command: node('console.log("work-key")') } };
    const env = { ROLLCALL_API_KEY: "env-key", ROLLCALL_CREDENTIAL_COMMAND: "false" };
    expect(await credentialOf("log", { profiles, env, flags: { profile: "work" } })).toMatchObject({
      token: "work-key",
      from: "credential_command of the profile work",
    });
    expect(await credentialOf("log", { profiles, env: { ...env, ROLLCALL_PROFILE: "work" } })).toMatchObject({
      token: "env-key",
    });
  });
});

describe("secrets", () => {
  it("are hidden as soon as they are known", async () => {
    const room = openRoom({
      env: { ROLLCALL_API_KEY: "key/1234+", ROLLCALL_PASSWORD: "pass-5678", ROLLCALL_USERNAME: "anna" },
    });
    const settings = await room.read();
    expect(room.hidden).toContain("pass-5678");
    await settings.credential("calls", asked);
    for (const secret of ["key/1234+", "pass-5678"]) expect(room.hidden).toContain(secret);
  });

  it("of files and of commands are hidden too", async () => {
    const line = `${process.execPath} -e 'console.log("command-1234")'`;
    const room = openRoom({
      env: { ROLLCALL_TOKEN_FILE: fileOf("file-1234") },
      logins: { default: { inference: { key: "saved-1234", origin: "https://b.example" } } },
      profiles: { default: { credential_command: line } },
    });
    const settings = await room.read();
    await settings.credential("log", asked);
    await settings.credential("calls", asked);
    await settings.credentialSource("inference", origin);
    for (const secret of ["file-1234", "saved-1234", "command-1234"]) expect(room.hidden).toContain(secret);
  });
});
