import { describe, expect, it } from "vitest";
import { failureOf, openHome, startTestLogin } from "./open.ts";

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
});
