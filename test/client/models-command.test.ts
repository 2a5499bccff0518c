import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Ran, runRollcall } from "../support/run.ts";
import { type Answer, json, listening, scriptedServer } from "../support/server.ts";
import { certificate } from "./certificate.ts";
import { rawServer, wireReply } from "./open.ts";

/** A service over TLS on loopback, and the file of the authority that signed its certificate. */
const httpsService = async (options: Parameters<typeof certificate>[0] = {}) => {
  const certified = certificate(options);
  const server = createServer(certified, (_, response) => response.end('{"data":[{"id":"m"}]}'));
  const { port } = await listening(server);
  const file = join(mkdtempSync(join(tmpdir(), "authority-")), "authority.pem");
  writeFileSync(file, certified.cert);
  return { url: `https://localhost:${port}`, file };
};

const models = async (
  url: string,
  env: Readonly<Record<string, string>> = {},
  args: readonly string[] = [],
): Promise<Ran> =>
  await runRollcall(["models", "--max-wait", "0s", ...args], {
    env: { ROLLCALL_INFERENCE_BASE_URL: url, ROLLCALL_API_KEY: "key-1", ...env },
  });

describe("rollcall models over TLS", () => {
  it("trusts the certificates of NODE_EXTRA_CA_CERTS", async () => {
    const { url, file } = await httpsService();
    expect(await models(url, { NODE_EXTRA_CA_CERTS: file })).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^m\t/),
    });
  });

  it("names NODE_EXTRA_CA_CERTS if the certificate is self-signed", async () => {
    const { url } = await httpsService();
    const ran = await models(url);
    expect(ran).toMatchObject({ code: 5, stdout: "" });
    expect(ran.stderr).toContain("its certificate is signed by an unknown authority (DEPTH_ZERO_SELF_SIGNED_CERT)");
    expect(ran.stderr).toContain("NODE_EXTRA_CA_CERTS=");
  });

  it.each([
    [
      "for another name",
      { names: ["other.example"] },
      "its certificate is for another name (ERR_TLS_CERT_ALTNAME_INVALID)",
    ],
    ["expired", { expired: true }, "its certificate has expired (CERT_HAS_EXPIRED)"],
  ])("refuses a certificate that is %s", { tags: "slow" }, async (_, options, words) => {
    const { url, file } = await httpsService(options);
    const ran = await models(url, { NODE_EXTRA_CA_CERTS: file });
    expect(ran).toMatchObject({ code: 5, stdout: "" });
    expect(ran.stderr).toContain(words);
  });
});

describe("rollcall models", () => {
  it("prints one note about its retries", { tags: "slow" }, async () => {
    const whole = wireReply("200 OK", '{"data":[{"id":"m"}]}', ["Connection: close"]);
    const { url } = await rawServer((socket, number) =>
      socket.once("data", () => socket.end(number < 3 ? whole.slice(0, -5) : whole)),
    );
    const { code, stderr } = await models(url, {}, ["--max-wait", "20s"]);
    const { host } = new URL(url);
    expect([code, stderr]).toEqual([
      0,
      `note: the request to ${host} failed: the connection ended before the answer was complete, 3 times; retrying for up to 20 s (--max-wait)\n`,
    ]);
  });

  const answers: readonly (readonly [code: number, reply: string, answer: Answer, error: string, message: string])[] = [
    [
      4,
      "401",
      json({ error: { message: "bad key" } }, 401),
      "auth",
      "ROLLCALL_API_KEY and the project team/project (401): bad key",
    ],
    [4, "403", json({ error: "not yours" }, 403), "auth", "(403): not yours"],
    [5, "503", json({ reason: "busy" }, 503), "unavailable", "the service answered 503: busy"],
    [5, "500 in HTML", { status: 500, body: "<html><title>Oops</title>" }, "unavailable", "answered 500: Oops"],
    [6, "422", json({ detail: [{ loc: ["query", 0], msg: "no" }] }, 422), "refused", "(422): query.0: no"],
    [
      6,
      "302",
      { status: 302, headers: { location: "/login" } },
      "refused",
      "/login (302), which rollcall does not follow",
    ],
    [6, "a page", { body: "<!DOCTYPE html><title>Sign in</title>" }, "refused", 'an HTML page ("Sign in")'],
    [6, "JSON of another shape", json({ models: [] }), "refused", " at data"],
    [9, "404 in JSON", json({ detail: "Not Found" }, 404), "not_found", "(404): Not Found"],
    [6, "404 in text", { status: 404, body: "no page" }, "refused", "cannot list models: http"],
  ];

  it.each(answers)("exits with %i after %s", async (code, _, answer, error, message) => {
    const { url } = await scriptedServer([{ answer }, { answer }]);
    const env = { ROLLCALL_PROJECT: "team/project" };
    const ran = await models(url, env);
    expect(ran).toMatchObject({ code, stdout: "" });
    expect(ran.stderr).toContain(message);
    const inJson = await models(url, env, ["--json"]);
    expect(inJson).toMatchObject({ code, stdout: "" });
    expect(JSON.parse(inJson.stderr)).toMatchObject({ error: { code: error, exit_code: code } });
  });

  it("exits with 5 after --timeout if the service is silent", async () => {
    const { url } = await rawServer((socket) => socket.resume());
    const ran = await models(url, {}, ["--timeout", "300ms"]);
    expect(ran).toMatchObject({ code: 5, stdout: "" });
    expect(ran.stderr).toContain("no data arrived for 0.3 s");
  });
});
