import { describe, expect, it } from "vitest";
import { runRollcall } from "../support/run.ts";
import { listen, request } from "./listen.ts";

const body = '{"object":"list","data":[]}';

describe("the request of rollcall models", () => {
  it("follows section 4.2 of the interface", async () => {
    const { url, heard } = await listen(body);
    const ran = await runRollcall(["models", "--json"], {
      env: { ROLLCALL_INFERENCE_BASE_URL: url, ROLLCALL_API_KEY: "key-1" },
    });
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    expect(heard).toEqual([
      request([
        "GET /v1/models HTTP/1.1",
        "Host: 127.0.0.1:PORT",
        "Authorization: Bearer key-1",
        "Content-Type: application/json",
        "Accept-Encoding: gzip, br",
        "User-Agent: rollcall/VERSION node/NODE PLATFORM",
        "Connection: keep-alive",
      ]),
    ]);
  });

  it("has a project header if a project is set, and keeps the path of the base URL", async () => {
    const { url, heard } = await listen(body);
    const ran = await runRollcall(["models", "--json", "--project", "team/project"], {
      env: { ROLLCALL_INFERENCE_BASE_URL: `${url}/inference/v1`, ROLLCALL_API_KEY: "key-1" },
    });
    expect(ran.code).toBe(0);
    expect(heard).toEqual([
      request([
        "GET /inference/v1/models HTTP/1.1",
        "Host: 127.0.0.1:PORT",
        "Authorization: Bearer key-1",
        "Content-Type: application/json",
        "Vendor-Project: team/project",
        "Accept-Encoding: gzip, br",
        "User-Agent: rollcall/VERSION node/NODE PLATFORM",
        "Connection: keep-alive",
      ]),
    ]);
  });

  it("names the project header after vendor_prefix or project_header", async () => {
    const { url, heard } = await listen(body);
    const env = { ROLLCALL_INFERENCE_BASE_URL: url, ROLLCALL_API_KEY: "k", ROLLCALL_PROJECT: "a/b" };
    await runRollcall(["models"], { env: { ...env, ROLLCALL_VENDOR_PREFIX: "acme" } });
    await runRollcall(["models"], { env: { ...env, ROLLCALL_PROJECT_HEADER: "X-Team" } });
    expect(heard[0]).toContain("\r\nacme-project: a/b\r\n");
    expect(heard[1]).toContain("\r\nx-team: a/b\r\n");
  });
});
