import { once } from "node:events";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runCommandLine } from "../../src/run.ts";
import { testHost } from "../support/host.ts";
import { endOf, newHome, startRollcall } from "../support/run.ts";
import { json, scriptedServer } from "../support/server.ts";
import { openAgent, request, runLines } from "./agent.ts";

const envOf = (url: string) => ({
  ROLLCALL_BASE_URL: url,
  ROLLCALL_INFERENCE_BASE_URL: url,
  ROLLCALL_API_KEY: "key-of-the-agent",
  ROLLCALL_PROJECT: "alpha/beta",
});

const models = json({ data: [{ id: "a" }] });

describe("rollcall mcp", () => {
  it("answers all requests before the end of stdin, and exits with 0", async () => {
    const server = await scriptedServer(Array.from({ length: 10 }, () => ({ answer: json({ call: null }) })));
    const lines = Array.from({ length: 10 }, (_, at) => request(at, "call_read", { call_id: [`id-${at}`] }));
    const { code, stderr, answers } = await runLines(lines, { env: envOf(server.url) });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(new Set(answers.map(({ id }) => id))).toEqual(new Set(["hello", ...lines.keys()]));
  });

  it("prints no warning if many long answers wait", async () => {
    const lines = Array.from({ length: 24 }, (_, id) => JSON.stringify({ jsonrpc: "2.0", id, method: "tools/list" }));
    const { code, stderr, answers } = await runLines(lines, { args: ["--local"] });
    expect({ code, stderr, count: answers.length }).toEqual({ code: 0, stderr: "", count: 25 });
  });

  it("exits with 0 if nothing is requested", async () => {
    expect(await runLines([], { args: ["--local"] })).toMatchObject({ code: 0, stderr: "" });
  });

  it("says at a terminal that it expects an agent", async () => {
    const host = testHost({ env: newHome(), terminal: { stdin: true } });
    expect(await runCommandLine({ ...host, argv: ["mcp", "--local"] })).toBe(0);
    expect(host.said()).toBe("note: this command expects an agent on standard input. End it with Ctrl-D\n");
  });

  it("skips lines that are not messages, and answers all messages", async () => {
    const lines = ["no json", "[]", "null", '{"jsonrpc":"1.0"}', '{"a":', request(7, "models"), "\u0000\u0001"];
    const { code, stderr, answers } = await runLines(lines, { args: ["--local"] });
    expect(code).toBe(0);
    expect(answers.map(({ id }) => id)).toEqual(["hello", 7]);
    expect(stderr).toBe("note: skipped a message that does not follow the protocol\n");
  });

  it.each<[string, unknown, unknown, number]>([
    ["an unknown tool", "log", {}, -32602],
    ["a name that is a number", 7, {}, -32602],
    ["parameters that are a list", "models", [1], -32602],
    ["parameters that are a text", "models", "x", -32602],
  ])("answers %s with a protocol error", async (_, name, args, code) => {
    const { answers } = await runLines([request(1, name, args)], { args: ["--local"] });
    const answer = answers.find(({ id }) => id === 1);
    expect(answer?.error?.code).toBe(code);
    expect(JSON.stringify(answer).length).toBeLessThan(3000);
  });

  it("takes parameters that are null as absent", async () => {
    const { answers } = await runLines([request(1, "models", null)], { args: ["--local"] });
    expect(answers.find(({ id }) => id === 1)).toMatchObject({ result: { isError: false } });
  });

  it("refuses arguments that are nested as deeply as a message allows", async () => {
    const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
    const lines = ["pattern", "sort"].map((name, at) =>
      request(at, "models", { [name]: 0 }).replace(":0}", `:${deep}}`),
    );
    const { answers, stdout } = await runLines(lines, { args: ["--local"] });
    expect(answers.map(({ id }) => id)).toEqual(["hello", 0, 1]);
    expect(stdout.match(/→ at (?:pattern|sort)/g)?.length).toBe(2);
    expect(stdout).not.toContain("internal");
  });

  it("refuses every method except those of tools", async () => {
    const methods = ["resources/list", "prompts/list", "completion/complete", "logging/setLevel", "tasks/list", "x"];
    const lines = methods.map((method, id) => JSON.stringify({ jsonrpc: "2.0", id, method, params: {} }));
    const { answers } = await runLines(lines, { args: ["--local"] });
    const codes = methods.map((_, at) => answers.find(({ id }) => id === at)?.error?.code);
    expect(codes).toEqual(methods.map(() => -32601));
  });

  it("exits with 3 if a message has no end", async () => {
    const { code, stderr, answers } = await runLines(["x".repeat(3 * 1024 * 1024)], { args: ["--local"] });
    expect(code).toBe(3);
    expect(stderr).toContain("rollcall: a message on standard input is longer than 1048576 bytes");
    expect(answers.length).toBeLessThanOrEqual(1);
  });

  const expectEndAt = async (signal: NodeJS.Signals): Promise<void> => {
    const server = await scriptedServer([{ answer: () => undefined }]);
    const child = startRollcall(["mcp"], { env: envOf(server.url) });
    const [ended, asked] = [endOf(child), expect.poll(() => server.received.length)];
    child.stdin.write(`${request(1, "models")}\n`);
    await asked.toBe(1);
    child.kill(signal);
    expect(await ended).toMatchObject({ code: 0, stdout: "", stderr: "" });
  };

  it("exits with 0 at SIGTERM while a call runs", async () => await expectEndAt("SIGTERM"));
  it.each(["SIGINT", "SIGHUP"] as const)("exits with 0 at %s while a call runs", { tags: "slow" }, expectEndAt);

  it("exits with 0 when stdout is closed", async () => {
    const child = startRollcall(["mcp", "--local"]);
    const closed = once(child, "close");
    child.stdout.destroy();
    child.stdin.on("error", () => undefined);
    child.stdin.write(`${request(1, "models")}\n${request(2, "models")}\n`);
    const [code] = await closed;
    expect(code).toBe(0);
  });

  it("ends a call that the client cancels, and answers the next call", async () => {
    const server = await scriptedServer([{ answer: () => undefined }, { answer: models }]);
    const { client, call } = await openAgent({ env: envOf(server.url) });
    const stop = new AbortController();
    const given = client.callTool({ name: "call_read", arguments: { call_id: ["a"] } }, undefined, {
      signal: stop.signal,
    });
    given.catch(() => undefined);
    await expect.poll(() => server.received.length).toBe(1);
    stop.abort("enough");
    await expect(given).rejects.toThrow("enough");
    expect(await call("models")).toMatchObject({ isError: false });
  });

  it("writes warnings and traces to stderr, and only the protocol to stdout", async () => {
    const home = newHome();
    const folder = join(home.XDG_CONFIG_HOME, "rollcall");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "settings.json"), "{}");
    chmodSync(join(folder, "settings.json"), 0o644);
    const { code, stderr, answers } = await runLines([request(1, "models")], {
      args: ["--local", "--debug"],
      env: home,
    });
    expect(code).toBe(0);
    expect(answers.map(({ id }) => id)).toEqual(["hello", 1]);
    expect(stderr).toContain("[insecure-permissions]");
    expect(stderr).toContain("> GET ");
  });

  it("escapes control and bidi characters, and omits texts with secrets", async () => {
    const odd = "a\u001b[31m\u202eb\u009b\u2028key-of-the-agent";
    const server = await scriptedServer([{ answer: json({ data: [{ id: odd, [odd]: odd }] }) }]);
    const { stdout } = await runLines([request(1, "models")], { env: envOf(server.url) });
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u202e]/);
    expect(stdout).not.toContain("key-of-the-agent");
    const [, line = ""] = stdout.split("\n");
    const { result } = JSON.parse(line);
    // The text is JSON in a string. It is safe to print, and complete after it is parsed.
    expect(result.content[0].text).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u202e]/);
    expect(JSON.parse(result.content[0].text).data[0].id).toBe("[text omitted: it contains a credential]");
  });

  it("reports a broken settings file in its answer, and reads the file again at the next call", async () => {
    const home = newHome();
    const folder = join(home.XDG_CONFIG_HOME, "rollcall");
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const file = join(folder, "settings.json");
    writeFileSync(file, "{", { mode: 0o600 });
    const server = await scriptedServer([{ answer: models }]);
    const { call } = await openAgent({ env: { ...home, ROLLCALL_API_KEY: "key-of-the-agent" } });
    expect(JSON.parse((await call("models")).text)).toMatchObject({
      error: { code: "usage", where: { file, line: 1 } },
    });
    writeFileSync(file, JSON.stringify({ profiles: { default: { inference_base_url: server.url } } }));
    expect(await call("models")).toMatchObject({ isError: false });
  });
});
