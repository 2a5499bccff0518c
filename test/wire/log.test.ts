import { describe, expect, it } from "vitest";
import { runRollcall } from "../support/run.ts";
import { listen, request } from "./listen.ts";

const trajectory =
  '{"messages_and_choices":[{"role":"user","content":"hi"}],"reward":1.50,"metrics":{"n":12345678901234567890}}';
const group = `{"trajectories":[${trajectory}]}`;
const body = `{"split":"train","trajectory_groups":[${group}]}`;
const headOf = (path: string, length: number) => [
  `POST ${path} HTTP/1.1`,
  "Host: 127.0.0.1:PORT",
  "Authorization: Bearer token-1",
  "Content-Type: application/json",
  "Idempotency-Key: KEY",
  "Accept-Encoding: gzip, br",
  "User-Agent: rollcall/VERSION node/NODE PLATFORM",
  `Content-Length: ${length}`,
  "Connection: close",
];
const env = { ROLLCALL_API_KEY: "key-1", ROLLCALL_TOKEN: "token-1" };

describe("the request of rollcall log", () => {
  it("follows section 4.1 of the interface, with the bytes of each group unchanged", async () => {
    const { url, heard } = await listen('{"metrics":{}}');
    const ran = await runRollcall(["log", "my-model", "-", "--split", "train", "--json"], {
      env: { ...env, ROLLCALL_BASE_URL: url },
      stdin: `\ufeff${group}\r\n\r\n`,
    });
    expect(ran).toMatchObject({ code: 0 });
    expect(heard).toEqual([request(headOf("/v1/preview/models/my-model/log", body.length), body)]);
  });

  it("goes to log_base_url, with the model id escaped in the path", async () => {
    const { url, heard } = await listen("");
    const ran = await runRollcall(["log", "a/b c%", "-", "--split", "train"], {
      env: { ...env, ROLLCALL_BASE_URL: "http://127.0.0.1:1", ROLLCALL_LOG_BASE_URL: `${url}/train` },
      stdin: group,
    });
    expect(ran.code).toBe(0);
    expect(heard).toEqual([request(headOf("/train/v1/preview/models/a%2Fb%20c%25/log", body.length), body)]);
  });

  it("has no Idempotency-Key if idempotency is never", async () => {
    const { url, heard } = await listen("{}");
    const ran = await runRollcall(["log", "my-model", "-", "--split", "train"], {
      env: { ...env, ROLLCALL_BASE_URL: url, ROLLCALL_IDEMPOTENCY: "never" },
      stdin: group,
    });
    expect(ran.code).toBe(0);
    const head = headOf("/v1/preview/models/my-model/log", body.length).filter(
      (line) => !line.startsWith("Idempotency"),
    );
    expect(heard).toEqual([request(head, body)]);
  });
});
