import { describe, expect, it } from "vitest";
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

  it("save a password with the white space around it", async () => {
    const home = openHome({ flags: { base_url: "https://a.example" } });
    await (await startTestLogin(home, { only: "calls", key: " pass \n" })).save();
    expect(readSaved(home, "credentials.json")).toMatchObject({ profiles: { default: { calls: { key: " pass " } } } });
  });
});
