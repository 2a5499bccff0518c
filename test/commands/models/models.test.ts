import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { placeAt } from "../../promises/place.ts";
import { type RunOptions, runRollcall } from "../../support/run.ts";
import { json, scriptedServer } from "../../support/server.ts";

const sample = readFileSync("test/samples/models.json", "utf8");

const models = async (
  args: readonly string[],
  { body = sample, env = {} }: { body?: string; env?: RunOptions["env"] } = {},
) => {
  const server = await scriptedServer([{ answer: json(body) }]);
  return await runRollcall(["models", ...args], {
    env: { ROLLCALL_INFERENCE_BASE_URL: server.url, ROLLCALL_API_KEY: "key-1234", ...env },
  });
};

describe("rollcall models", () => {
  it("prints a table that fits the terminal", async () => {
    const { code, stdout, stderr } = await models(["q", "-o", "table"], { env: { COLUMNS: "60" } });
    expect(code).toBe(0);
    await expect(stdout + stderr).toMatchFileSnapshot("golden/models.txt");
  });
});

describe.concurrent("a command that reads", { timeout: 60_000 }, () => {
  it("fails immediately if nothing listens, unless --max-wait is on the command line", async (context) => {
    const place = placeAt(context, "http://127.0.0.1:1", {
      ROLLCALL_INFERENCE_BASE_URL: "http://127.0.0.1:1",
      ROLLCALL_API_KEY: "key-1",
    });
    const [first, patient] = [await place.run(["models"]), await place.run(["models", "--max-wait", "1s"])];
    expect([first.code, first.stderr]).toEqual([5, expect.not.stringContaining("on attempt")]);
    expect([patient.code, patient.stderr]).toEqual([5, expect.stringMatching(/on attempt \d+/)]);
  });
});
