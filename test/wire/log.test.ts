import { expect, it } from "vitest";
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
  "Connection: keep-alive",
];
const env = { ROLLCALL_API_KEY: "key-1", ROLLCALL_TOKEN: "token-1" };

it("logs trajectories as 4.1 has it, the group's bytes as they stood in the input", async () => {
  const { url, heard } = await listen('{"metrics":{}}');
  const ran = await runRollcall(["log", "my-model", "-", "--split", "train", "--json"], {
    env: { ...env, ROLLCALL_BASE_URL: url },
    stdin: `\ufeff${group}\r\n\r\n`,
  });
  expect(ran).toMatchObject({ code: 0 });
  expect(heard).toEqual([request(headOf("/v1/preview/models/my-model/log", body.length), body)]);
});

it("logs to an address of its own, for a model id that holds a slash, a space and a percent sign", async () => {
  const { url, heard } = await listen("");
  const ran = await runRollcall(["log", "a/b c%", "-", "--split", "train"], {
    env: { ...env, ROLLCALL_BASE_URL: "http://127.0.0.1:1", ROLLCALL_LOG_BASE_URL: `${url}/train` },
    stdin: group,
  });
  expect(ran.code).toBe(0);
  expect(heard).toEqual([request(headOf("/train/v1/preview/models/a%2Fb%20c%25/log", body.length), body)]);
});

it("sends nothing beside what 4.1 names where idempotency is never", async () => {
  const { url, heard } = await listen("{}");
  const ran = await runRollcall(["log", "my-model", "-", "--split", "train"], {
    env: { ...env, ROLLCALL_BASE_URL: url, ROLLCALL_IDEMPOTENCY: "never" },
    stdin: group,
  });
  expect(ran.code).toBe(0);
  const head = headOf("/v1/preview/models/my-model/log", body.length).filter((line) => !line.startsWith("Idempotency"));
  expect(heard).toEqual([request(head, body)]);
});
