import { describe, expect, it } from "vitest";
import { json } from "../../support/server.ts";
import { key, models, openHome } from "./home.ts";

describe("rollcall auth status", () => {
  it("prints the credential, its source and its origin for each use", async () => {
    const { auth, home } = await openHome();
    const addresses = "--base-url https://a.example/x --inference-base-url https://m.example/v1 --no-check";
    await auth(`login --with-token --for log ${addresses}`, { stdin: key });
    await auth(`login --with-token --for calls --username anna ${addresses}`, { stdin: key });
    const env = { ROLLCALL_INFERENCE_BASE_URL: "https://m.example/v1", ROLLCALL_CREDENTIAL_COMMAND: "pass show key" };
    const { code, stdout, stderr } = await auth("status", { env });
    expect([code, stderr]).toEqual([0, "note: the credentials were not tested (test them with --check)\n"]);
    expect(stdout.split("\n").map((line) => line.split("\t"))).toEqual([
      ["log", "ready", "https://a.example", "login of the profile default", ""],
      ["inference", "command", "https://m.example", "ROLLCALL_CREDENTIAL_COMMAND", ""],
      ["calls", "ready", "https://a.example", "login of the profile default", "anna"],
      [""],
    ]);
    const json = JSON.parse((await auth("status --json --for log", { env: { ROLLCALL_TOKEN: "tk-9876" } })).stdout);
    expect(json).toEqual({
      profile: "default",
      credentials: [
        {
          use: "log",
          origin: "https://a.example",
          state: "ready",
          from: "ROLLCALL_TOKEN",
          username: null,
          check: null,
        },
      ],
    });
    expect((await auth("status --local")).stdout).toContain("the local service's own key");
    expect(home.HOME).not.toBe("");
  });

  it("exits with 4 if a credential is missing", async () => {
    const { auth } = await openHome();
    const none = await auth("status --base-url https://a.example");
    expect([none.code, none.stdout.split("\n")[0]]).toEqual([4, "log\tmissing\thttps://a.example\t\t"]);
    expect(none.stderr).toContain("rollcall auth login");
    const json = await auth("status --json");
    expect(json.code).toBe(4);
    expect(JSON.parse(json.stdout).credentials).toMatchObject([
      { use: "log", state: "no address" },
      { use: "inference", state: "no address" },
      { use: "calls", state: "no address" },
    ]);
    expect(JSON.parse(json.stderr).error.code).toBe("auth");
    await auth("login --with-token --for log --no-check --base-url https://a.example", { stdin: key });
    expect((await auth("status")).code).toBe(0);
    expect((await auth("status --for calls")).code).toBe(4);
    const elsewhere = await auth("status --for log --base-url https://b.example");
    expect([elsewhere.code, elsewhere.stdout.split("\t")[1]]).toEqual([4, "elsewhere"]);
  });

  it("tests the credentials with --check", async () => {
    const refused = json({ reason: "no" }, 403);
    const { auth, site } = await openHome([{ answer: models }, { answer: refused }]);
    await auth(`login --with-token --no-check ${site}`, { stdin: key });
    const project = { ROLLCALL_PROJECT: "team/project" };
    const { code, stdout, stderr } = await auth("status --check", { env: project });
    expect([code, stdout.split("\n").map((line) => line.split("\t")[5])]).toEqual([
      4,
      ["untried", "taken", "refused", undefined],
    ]);
    expect(stderr).toContain("the credential for log was not tested: only log accepts it");
  });

  it("exits with 5 with --check if the service does not answer", async () => {
    const { auth } = await openHome();
    const closed = "http://127.0.0.1:1";
    await auth(`login --with-token --no-check --base-url ${closed} --inference-base-url ${closed}`, { stdin: key });
    const { code, stdout } = await auth("status --check --for inference --max-wait 0s");
    expect([code, stdout]).toEqual([5, `inference\tready\t${closed}\tlogin of the profile default\t\tsilent\n`]);
  });
});

describe("rollcall auth logout", () => {
  it("deletes all keys of the profile, or the key of one use", async () => {
    const { auth, run } = await openHome();
    await auth("login --with-token --no-check --base-url https://a.example", { stdin: key });
    expect(await auth("logout --for log")).toEqual({
      code: 0,
      stdout: "",
      stderr: "note: profile default: deleted the key for log\n",
    });
    expect((await auth("logout --json")).stdout).toBe('{"profile":"default","removed":["calls"]}\n');
    const again = await auth("logout", { env: { ROLLCALL_API_KEY: key } });
    expect(again.stderr).toBe(
      "note: profile default: no key is saved\nnote: still set in the environment: ROLLCALL_API_KEY\n",
    );
    expect((await run("config get base_url")).stdout).toBe("https://a.example\n");
  });
});
