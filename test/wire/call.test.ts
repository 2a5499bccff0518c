import { describe, expect, it } from "vitest";
import { runRollcall } from "../support/run.ts";
import { listen, request } from "./listen.ts";

const body =
  '{"call":{"id":"0190","project_id":"team/project","op_name":"op","trace_id":"t","started_at":"2026-01-01T00:00:00Z","attributes":{},"inputs":{}}}';
const env = { ROLLCALL_API_KEY: "key-1", ROLLCALL_PROJECT: "team/project" };
const headOf = (authorization: string, length: number) => [
  "POST /call/read HTTP/1.1",
  "Host: 127.0.0.1:PORT",
  `Authorization: ${authorization}`,
  "Content-Type: application/json",
  "Accept-Encoding: gzip, br",
  "User-Agent: rollcall/VERSION node/NODE PLATFORM",
  `Content-Length: ${length}`,
  "Connection: keep-alive",
];

describe("the request of rollcall call read", () => {
  it("follows section 4.3 of the interface", async () => {
    const { url, heard } = await listen(body);
    const ran = await runRollcall(["call", "read", "0190", "--json"], { env: { ...env, ROLLCALL_BASE_URL: url } });
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    const asked =
      '{"project_id":"team/project","id":"0190","include_costs":false,"include_storage_size":false,"include_total_storage_size":false}';
    // base64 of `api:key-1`
    expect(heard).toEqual([request(headOf("Basic YXBpOmtleS0x", asked.length), asked)]);
  });

  it("asks for costs and sizes, with the username and password that are set", async () => {
    const { url, heard } = await listen(body);
    const own = { ROLLCALL_USERNAME: "me", ROLLCALL_PASSWORD: "pass:word", ROLLCALL_BASE_URL: `${url}/trace` };
    await runRollcall(["call", "read", "0190", "--costs", "--storage-size", "--total-storage-size", "--json"], {
      env: { ...env, ...own },
    });
    const asked =
      '{"project_id":"team/project","id":"0190","include_costs":true,"include_storage_size":true,"include_total_storage_size":true}';
    // base64 of `me:pass:word`
    const head = headOf("Basic bWU6cGFzczp3b3Jk", asked.length);
    expect(heard).toEqual([request(["POST /trace/call/read HTTP/1.1", ...head.slice(1)], asked)]);
  });

  it("contains the unchanged id", async () => {
    const { url, heard } = await listen(body);
    await runRollcall(["call", "read", 'a"b/ü'], { env: { ...env, ROLLCALL_BASE_URL: url } });
    expect(heard[0]).toContain('"id":"a\\"b/ü"');
  });
});
