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
  it.each([60, 100])("prints a table that fits %i columns", async (columns) => {
    const { code, stdout, stderr } = await models(["q", "-o", "table"], { env: { COLUMNS: String(columns) } });
    expect(code).toBe(0);
    await expect(stdout + stderr).toMatchFileSnapshot(`golden/models.${columns}.txt`);
  });

  it("prints one model per line in a pipe, tab-separated, with the promised column order", async () => {
    const body =
      '{"object":"list","data":[{"id":"a/b","object":"model","created":1753228800,"owned_by":"me","root":"r","more":1}]}';
    expect((await models(["--header"], { body })).stdout).toBe(
      "id\tcreated\towned by\troot\tobject\na/b\t2025-07-23\tme\tr\tmodel\n",
    );
    expect((await models(["-o", "csv"], { body })).stdout).toBe(
      "id,created,owned_by,root,object\r\na/b,1753228800,me,r,model\r\n",
    );
    expect((await models(["--fields", "more,id"], { body })).stdout).toBe("1\ta/b\n");
  });

  it("leaves `created` empty if it is absent or null, and prints 0 and other values that are not a time unchanged", async () => {
    const created = [0, null, -5, 1e20, "soon", true];
    const body = JSON.stringify({ data: [{}, ...created.map((value) => ({ created: value }))] });
    expect((await models(["--fields", "created"], { body })).stdout.split("\n")).toEqual([
      "",
      "0",
      "",
      "-5",
      "100000000000000000000",
      "soon",
      "true",
      "",
    ]);
  });

  it("prints values whose type differs from the interface as received", async () => {
    const body = '{"data":[{"id":"a","created":"soon","root":["x"]},{"id":7},{"id":"b","more":[1]}]}';
    const stdout = "a\tsoon\n7\t\nb\t\n";
    expect(await models(["--fields", "id,created"], { body })).toEqual({ code: 0, stdout, stderr: "" });
  });

  it.each(["tsv", "csv", "json", "jsonl", "table"])(
    "exits with 2 for an unknown field, even if the list is empty, with -o %s",
    async (format) => {
      const [full, none] = ['{"data":[{"id":"a","more":1}]}', '{"data":[]}'];
      const codes = async (field: string) => [
        (await models(["--fields", field, "-o", format], { body: full })).code,
        (await models(["zzz", "--fields", field, "-o", format], { body: full })).code,
        (await models(["--fields", field, "-o", format], { body: none })).code,
        (await runRollcall(["ledger", "status", "--fields", field, "-o", format])).code,
      ];
      expect(await codes("nope")).toEqual([2, 2, 2, 2]);
      expect(await codes("id")).toEqual([0, 0, 0, 0]);
      // Entries that a filter leaves out count for the known fields, too.
      expect(await codes("more")).toEqual([0, 0, 2, 2]);
    },
  );

  it("says that the list is only the first page if has_more is true", async () => {
    const body = (has_more: unknown) => JSON.stringify({ data: [{ id: "a" }], has_more });
    expect(await models(["--fields", "id"], { body: body(true) })).toEqual({
      code: 0,
      stdout: "a\n",
      stderr: "note: these models are only the first page of the service's list (has_more)\n",
    });
    expect((await models(["--fields", "id"], { body: body(false) })).stderr).toBe("");
  });

  it("sorts the newest first with --sort -created", async () => {
    const { stdout } = await models(["--sort", "-created", "--fields", "id,created"]);
    expect(stdout.split("\n").slice(0, 3)).toEqual([
      "zai-org/GLM-5.2\t2026-06-13",
      "Qwen/Qwen3-32B\t2026-01-28",
      "MiniMaxAI/MiniMax-M2.5\t0",
    ]);
  });

  it("prints the service's own JSON, and filters entries without changing them", async () => {
    const whole = JSON.parse((await models(["--json"])).stdout);
    expect(whole).toEqual(JSON.parse(sample));
    const { stdout } = await models(["gemma", "-o", "jsonl"]);
    expect(
      stdout
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
    ).toEqual(whole.data.filter(({ id }: { readonly id: string }) => id.includes("gemma")));
  });

  it("says that the service lists no models", async () => {
    expect(await models([], { body: '{"object":"list","data":[]}' })).toEqual({
      code: 0,
      stdout: "",
      stderr: "note: the service lists no models\n",
    });
  });

  it("exits with 2 for an unknown column before it sends a request", async () => {
    const { code, stderr } = await runRollcall(["models", "--sort", "creatd"]);
    expect(code).toBe(2);
    expect(stderr).toContain("hint: did you mean created?");
  });
});

describe.concurrent("a command that reads", { timeout: 60_000 }, () => {
  it("fails immediately if nothing listens, unless --max-wait is on the command line", async (context) => {
    const { expect } = context;
    const place = placeAt(context, "http://127.0.0.1:1", {
      ROLLCALL_INFERENCE_BASE_URL: "http://127.0.0.1:1",
      ROLLCALL_API_KEY: "key-1",
    });
    const [first, patient] = [await place.run(["models"]), await place.run(["models", "--max-wait", "1s"])];
    expect([first.code, first.stderr]).toEqual([5, expect.not.stringContaining("times")]);
    expect([patient.code, patient.stderr]).toEqual([5, expect.stringMatching(/\d+ times/)]);
  });
});
