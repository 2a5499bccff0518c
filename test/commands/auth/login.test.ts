import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { endOf, startInTurn } from "../../support/run.ts";
import { json } from "../../support/server.ts";
import { key, models, openHome } from "./home.ts";

describe("rollcall auth login", () => {
  it("accepts any password for calls without line ends, but only ASCII keys", async () => {
    for (const password of ["pä:ss", " 日 本\t"]) {
      const answers = Array.from({ length: 3 }, () => ({ answer: json({ call: { id: "c" } }) }));
      const { server, auth, run, home } = await openHome(answers);
      const login = `login --with-token --for calls --no-check --base-url ${server.url} --project a/b`;
      expect((await auth(login, { stdin: `${password}\n` })).code).toBe(0);
      const file = join(home.HOME, "password");
      writeFileSync(file, `${password}\n`);
      expect((await run("call read c")).code).toBe(0);
      expect((await run("call read c", { env: { ROLLCALL_PASSWORD: password } })).code).toBe(0);
      expect((await run("call read c", { env: { ROLLCALL_PASSWORD_FILE: file } })).code).toBe(0);
      const sent = `Basic ${Buffer.from(`api:${password}`).toString("base64")}`;
      expect(server.received.map(({ headers }) => headers.authorization)).toEqual([sent, sent, sent]);
    }
    const { auth } = await openHome();
    const key = await auth("login --with-token --no-check --base-url https://a.example", { stdin: "pä:ss" });
    expect([key.code, key.stderr]).toEqual([2, expect.stringContaining("`rollcall auth login --for calls`")]);
    const lines = await auth("login --with-token --no-check --for calls --base-url https://a.example", {
      stdin: "a\nb",
    });
    expect(lines.code).toBe(2);
  });

  it("prints the saved uses as JSON", async () => {
    const { server, auth, site } = await openHome([{ answer: models }]);
    const { code, stdout, stderr } = await auth(`login --with-token ${site} --profile work --json`, { stdin: key });
    expect([code, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toEqual({
      profile: "work",
      saved: ["log", "inference", "calls"].map((use) => ({ use, origin: server.url })),
      checked: true,
      next: "rollcall models --profile work",
    });
  });

  it.each([
    ["blank lines", "", "\n \r\n\n", "no key was given"],
    [
      "an assignment as the key",
      "",
      "export KEY=wk-1234",
      "it contains white space or characters that headers cannot contain",
    ],
    [
      "a header as the key",
      "",
      "Bearer lines-1234",
      "it contains white space or characters that headers cannot contain",
    ],
    [
      "a control character",
      "",
      "\u0000lines-1234",
      "it contains white space or characters that headers cannot contain",
    ],
    ["a user name for another use", "--for log --username anna", key, "only calls need a user name"],
    ["a key as an argument", "lines-1234", key, ""],
  ])("exits with 2 and saves nothing for %s", async (_, args, stdin, said) => {
    const { auth, home } = await openHome();
    const options = "--with-token --no-check --base-url https://a.example";
    const { code, stdout, stderr } = await auth(`login ${options} ${args}`.trimEnd(), { stdin });
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(said);
    if (!args.includes("1234")) expect(stderr).not.toContain("1234");
    expect(existsSync(home.XDG_CONFIG_HOME)).toBe(false);
  });

  it("saves nothing if it is interrupted while it tests the key, also by the read without the key", async () => {
    const interrupt = () => void run.kill("SIGINT");
    const { home, server } = await openHome([{ answer: json({ detail: "Not Found" }, 404) }, { answer: interrupt }]);
    const args = `auth login --with-token --for calls --base-url ${server.url} --project a/b`.split(" ");
    const run = startInTurn(args, { env: home, stdin: key });
    expect((await endOf(run)).code).toBe(130);
    expect(server.received).toHaveLength(2);
    expect(existsSync(home.XDG_CONFIG_HOME)).toBe(false);
  });
});
