import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { startLogin } from "../../src/settings/login.ts";
import { failureOf, openHome, readSaved, startTestLogin } from "./open.ts";

describe("logins", () => {
  it("need a URL, and fail for the local service", async () => {
    expect(await failureOf(() => startTestLogin(openHome()))).toMatchObject({
      kind: "setting-missing",
      message: "base_url is not set (URL of the service)",
      hint: expect.not.stringContaining("--local"),
    });
    expect(await failureOf(() => startTestLogin(openHome(), { only: "inference" }))).toMatchObject({
      message: "inference_base_url is not set (URL of the service that lists the models)",
    });
    const local = openHome({ flags: { local: true } });
    expect((await failureOf(() => startTestLogin(local))).kind).toBe("conflicting-options");
  });

  it("save a key without the white space around it, and refuse two keys", async () => {
    const home = openHome({ flags: { base_url: "https://a.example" } });
    await (await startTestLogin(home, { key: "\ufeff key-1234 \r\n\n" })).save();
    expect(readSaved(home, "credentials.json")).toMatchObject({ profiles: { default: { log: { key: "key-1234" } } } });
    const failure = await failureOf(() => startTestLogin(home, { key: "key-1234\nkey-5678\n" }));
    expect(failure.message).toBe("cannot use the key from standard input: it has more than one line");
  });

  it.each([true, false])("hide a key that is typed at a terminal, for withToken: %s", async (withToken) => {
    const home = openHome({ flags: { base_url: "https://a.example" } });
    const stdin = Object.assign(Readable.from([]), { setRawMode: () => undefined });
    const host = { ...home.sources.host, stdin, terminal: { ...home.sources.host.terminal, stdin: true } };
    const asked: (readonly [string, boolean])[] = [];
    const ask = async (...question: readonly [string, boolean]) => {
      asked.push(question);
      return ["key-1234"];
    };
    await startLogin({ ...home.sources, host }, ask, { only: "log", username: undefined, withToken });
    expect(asked).toEqual([["key for https://a.example (log): ", true]]);
  });

  it("ask for one URL at least, and for the project and the providers if the URL is of calls", async () => {
    const home = openHome();
    const stdin = Object.assign(Readable.from([]), { setRawMode: () => undefined });
    const host = { ...home.sources.host, stdin, terminal: { ...home.sources.host.terminal, stdin: true } };
    const logIn = async (...answers: readonly string[]) => {
      const asked: string[] = [];
      const left = [...answers, "key-1234"];
      const ask = async (question: string) => {
        asked.push(question.replace(/ \(.*?(; Enter skips)?\): $/, "$1"));
        return [left.shift() ?? ""];
      };
      await startLogin({ ...home.sources, host, flags: {} }, ask, {
        only: undefined,
        username: undefined,
        withToken: false,
      });
      return asked;
    };
    const skips = (...names: readonly string[]) => names.map((name) => `${name}; Enter skips`);
    const [first, second] = ["https://a.example", "https://b.example"];
    const others = skips("project", "analysis_provider", "router_provider");
    expect(await logIn(first, "", "", "", "")).toEqual([
      ...[...skips("base_url", "inference_base_url"), ...others, `key for ${first}`],
    ]);
    expect(await logIn("", second)).toEqual([...skips("base_url"), "inference_base_url", `key for ${second}`]);
  });

  it("save nothing if the key was also the answer to another question", async () => {
    const home = openHome({ flags: { base_url: "https://a.example", router_provider: "key-1234" } });
    const { message } = await failureOf(() => startTestLogin(home, { key: "key-1234" }));
    expect(message).toBe("cannot use the key from this login: it is also the value of a setting");
  });

  it("save a new profile, also if its URL comes from the environment", async () => {
    const home = openHome({ flags: { profile: "work" }, env: { ROLLCALL_BASE_URL: "https://a.example" } });
    await (await startTestLogin(home, { key: "key-1234" })).save();
    expect(readSaved(home, "settings.json")).toEqual({ profiles: { work: {} } });
  });

  it("save a password with the white space around it", async () => {
    const home = openHome({ flags: { base_url: "https://a.example" } });
    expect((await failureOf(() => startTestLogin(home, { only: "calls", key: "  \n" }))).kind).toBe(
      "login-key-missing",
    );
    await (await startTestLogin(home, { only: "calls", key: " pass \n" })).save();
    expect(readSaved(home, "credentials.json")).toMatchObject({ profiles: { default: { calls: { key: " pass " } } } });
  });
});
