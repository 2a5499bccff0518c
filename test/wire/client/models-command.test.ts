import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type RunResult, runRollcall } from "../../support/run.ts";
import { type Answer, json, listenOnLoopback, scriptedServer } from "../../support/server.ts";
import { certificate } from "./certificate.ts";

const httpsService = async (options: Parameters<typeof certificate>[0] = {}) => {
  const certified = certificate(options);
  const server = createServer(certified, (_, response) => response.end('{"data":[{"id":"m"}]}'));
  const { port } = await listenOnLoopback(server);
  const file = join(mkdtempSync(join(tmpdir(), "authority-")), "authority.pem");
  writeFileSync(file, certified.cert);
  return { url: `https://localhost:${port}`, file };
};

const models = async (
  url: string,
  env: Readonly<Record<string, string>> = {},
  args: readonly string[] = ["--max-wait", "0s"],
): Promise<RunResult> =>
  await runRollcall(["models", ...args], {
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

  it("names a file of NODE_EXTRA_CA_CERTS that is not a certificate", async () => {
    const { url, file } = await httpsService();
    writeFileSync(file, "not PEM");
    const { stderr } = await models(url, { NODE_EXTRA_CA_CERTS: file });
    expect(stderr).toContain(`hint: check that ${file}, the file in NODE_EXTRA_CA_CERTS, exists`);
  });
});

describe("rollcall models", () => {
  const proxied = { status: 403, headers: { "content-type": "text/html" }, body: "<html><title>Denied</title></html>" };
  it.each<[string, Answer, number, RegExp]>([
    [
      "an error with the status 200",
      json({ error: { message: "no such region" } }),
      6,
      /200 with an error: no such region\n/,
    ],
    ["an error next to an empty list", json({ data: [], error: "no region" }), 6, /200 with an error: no region\n/],
    ["a list that is null", json({ data: null }), 0, /^note: the list of models is empty\n$/],
    ["a quota that is used up", json({ error: { code: "insufficient_quota" } }, 429), 6, /hint: raise the quota/],
    ["the 403 of a proxy", proxied, 6, /a proxy refused the request to .* \(403\): Denied\n/],
  ])("blames the right thing for %s", async (_, answer, code, said) => {
    const { url, received } = await scriptedServer([{ answer }]);
    const isProxy = answer === proxied;
    const env = isProxy ? { HTTP_PROXY: url } : {};
    const args = ["--insecure-http", "--max-wait", "1m"];
    expect(await models(isProxy ? "http://service.invalid" : url, env, args)).toMatchObject({
      code,
      stdout: "",
      stderr: expect.stringMatching(said),
    });
    expect(received).toHaveLength(1);
  });
});
