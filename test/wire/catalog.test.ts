import { describe, expect, it } from "vitest";
import { runRollcall } from "../support/run.ts";
import { listen, request } from "./listen.ts";

const env = {
  ROLLCALL_API_KEY: "key-1",
  ROLLCALL_PROJECT: "team/project",
  ROLLCALL_ANALYSIS_PROVIDER: "acme analysis",
  ROLLCALL_ROUTER_PROVIDER: "a/b",
};
const headers = [
  "Host: 127.0.0.1:PORT",
  "Accept-Encoding: gzip, br",
  "User-Agent: rollcall/VERSION node/NODE PLATFORM",
  "Connection: keep-alive",
];

describe("the request of rollcall catalog", () => {
  it.each([
    ["4.4", "analysis", "GET /inference/analysis/acme%20analysis/models HTTP/1.1"],
    ["4.5", "router", "GET /inference/router/a%2Fb/models HTTP/1.1"],
  ])("follows section %s of the interface for the %s catalog, without a credential", async (_, catalog, line) => {
    const { url, heard } = await listen('{"data":[]}');
    const ran = await runRollcall(["catalog", catalog, "--json"], { env: { ...env, ROLLCALL_BASE_URL: url } });
    expect(ran).toMatchObject({ code: 0, stdout: '{"data":[]}\n', stderr: "" });
    expect(heard).toEqual([request([line, ...headers])]);
  });
});
