import { describe, expect, it } from "vitest";
import { runHere } from "../../support/here.ts";
import { newHome } from "../../support/run.ts";
import { runOnTerminal } from "../../support/terminal.ts";
import { found, service } from "./service.ts";

describe("rollcall call read --path", () => {
  it("prints control characters to a program, and none to a terminal", async () => {
    const text = "a\u001b]0;owned\u0007b\u202ec\r\n";
    const { read, env } = await service([found("a", { output: text }), found("a", { output: text })]);
    expect((await read(["a", "--path", "output"])).stdout).toBe(`${text}\n`);
    const line = `"${process.execPath}" bin/rollcall.js call read a --path output`;
    const { written } = await runOnTerminal(line, { env: { PATH: process.env.PATH, ...newHome(), ...env } });
    expect(written).not.toContain("owned");
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

it.each(["--storage-size", "--total-storage-size"])("call read asks for sizes only with %s", async (option) => {
  const { env, server } = await service([found("a"), found("a")]);
  for (const args of [[], [option]]) await runHere(["call", "read", "a", ...args], { env });
  const sent = server.received.map(({ body }) => JSON.parse(body.toString()));
  const name = `include_${option.slice(2).replaceAll("-", "_")}`;
  expect(sent.map((request) => request[name] === true)).toEqual([false, true]);
});
