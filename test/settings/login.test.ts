import { describe, expect, it } from "vitest";
import { failureOf, openHome, planned } from "./open.ts";

describe("logins", () => {
  it("need a URL, and fail for the local service", async () => {
    expect(await failureOf(() => planned(openHome()))).toMatchObject({
      kind: "setting-missing",
      message: "base_url is not set (main URL of the service)",
    });
    expect(await failureOf(() => planned(openHome(), { only: "inference" }))).toMatchObject({
      message: "inference_base_url is not set (URL of the models)",
    });
    const local = openHome({ flags: { local: true } });
    expect((await failureOf(() => planned(local))).kind).toBe("conflicting-options");
  });
});
