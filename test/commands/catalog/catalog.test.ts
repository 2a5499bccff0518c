import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { nowHere, runHere } from "../../support/here.ts";
import { type RunOptions, runRollcall } from "../../support/run.ts";
import { json, type ScriptedServer, scriptedServer } from "../../support/server.ts";

/** Entries with every field, without fields, and with fields of another type. */
const catalog = readFileSync("test/commands/catalog/catalog.json", "utf8");

/** The note about the fields of another type. */
const typeNote =
  "note: printed fields of unexpected types as received, and filters ignored them: " +
  '"beta/a-model-with-a-name-that-is-longer-than-most-screens-are-wide-instruct-2507" (pricing.completion), ' +
  '"delta/odd" (created, input_modalities, quantization, context_length, datacenters, pricing.prompt, deprecation_date)\n';

const serviceWith = async (
  body: string,
): Promise<{ readonly server: ScriptedServer; readonly env: RunOptions["env"] }> => {
  const server = await scriptedServer([{ answer: json(body) }]);
  return {
    server,
    env: { ROLLCALL_BASE_URL: server.url, ROLLCALL_ROUTER_PROVIDER: "open/router", ROLLCALL_ANALYSIS_PROVIDER: "aa" },
  };
};

const router = async (
  args: readonly string[],
  { body = catalog, env = {} }: { body?: string; env?: RunOptions["env"] } = {},
) => {
  const service = await serviceWith(body);
  return await runHere(["catalog", "router", ...args], { env: { ...service.env, ...env } });
};

const idsOf = ({ stdout }: { readonly stdout: string }): readonly string[] => stdout.split("\n").slice(0, -1);

const entries = (list: readonly object[]): string => JSON.stringify({ data: list });

describe("rollcall catalog", () => {
  it("requests either catalog without a credential or a body", async () => {
    for (const [name, path] of [
      ["analysis", "/inference/analysis/aa/models"],
      ["router", "/inference/router/open%2Frouter/models"],
    ] as const) {
      const { server, env } = await serviceWith(catalog);
      const ran = await runRollcall(["catalog", name, "-o", "csv"], { env: { ...env, ROLLCALL_API_KEY: "key-1234" } });
      expect(ran).toMatchObject({ code: 0, stderr: typeNote });
      expect(server.received.map(({ method, path: asked, body }) => [method, asked, body.length])).toEqual([
        ["GET", path, 0],
      ]);
      expect(server.received[0]?.headers.authorization).toBeUndefined();
    }
  });

  it("prints the service's JSON without its white space", async () => {
    const { stdout } = await router(["--json"], {
      body: '{ "data": [ {"id":"a","context_length":1e5,"x":[1.0, 2]} ], "next": null }',
    });
    expect(stdout).toBe('{"data":[{"id":"a","context_length":1e5,"x":[1.0,2]}],"next":null}\n');
  });

  it("finds words in ids and names in any case, and globs in ids", async () => {
    const body = entries([
      { id: "Qwen/Qwen3-8B", name: "Qwen 3" },
      { id: "x/other", name: "a qWEn in the name" },
      { id: "y/z" },
      { name: "no id" },
    ]);
    expect(idsOf(await router(["QWEN", "--fields", "id"], { body }))).toEqual(["Qwen/Qwen3-8B", "x/other"]);
    expect(idsOf(await router(["qwen*", "--fields", "id"], { body }))).toEqual(["Qwen/Qwen3-8B"]);
    expect(idsOf(await router(["?/*", "--fields", "id"], { body }))).toEqual(["x/other", "y/z"]);
    expect(idsOf(await router(["*8b", "--fields", "id"], { body }))).toEqual(["Qwen/Qwen3-8B"]);
    expect(idsOf(await router(["qwen?", "--fields", "id"], { body }))).toEqual([]);
    expect(idsOf(await router(["name QWEN", "--fields", "id"], { body }))).toEqual(["x/other"]);
    expect(idsOf(await router(["3 8b", "--fields", "id"], { body }))).toEqual(["Qwen/Qwen3-8B"]);
    expect(idsOf(await router(["q* 8b", "--fields", "id"], { body }))).toEqual(["Qwen/Qwen3-8B"]);
  });

  it("filters and sorts in every output format", async () => {
    const body =
      '{"data":[{"id":"b","n":1.0},{"id":"x"},{"id":"a","pricing":{"prompt":"1","odd_one":"2"}},{"id":"ab"}]}';
    expect((await router(["?", "--sort", "id", "--json"], { body })).stdout).toBe(
      '{"data":[{"id":"a","pricing":{"prompt":"1","odd_one":"2"}},{"id":"b","n":1.0},{"id":"x"}]}\n',
    );
    expect((await router(["a", "--sort", "-id", "-o", "jsonl"], { body })).stdout).toBe(
      '{"id":"ab"}\n{"id":"a","pricing":{"prompt":"1","odd_one":"2"}}\n',
    );
    expect(
      (await router(["a", "--sort", "pricing.odd_one", "--fields", "id,pricing.odd_one", "-o", "csv"], { body }))
        .stdout,
    ).toBe("id,pricing.odd_one\r\na,2\r\nab,\r\n");
  });

  it("exits with 0 and prints a note if nothing matches", async () => {
    expect(await router(["nothing-like-it"])).toEqual({
      code: 0,
      stdout: "",
      stderr: 'note: no model matches "nothing-like-it"\n',
    });
    expect(await router(["nothing-like-it", "-q"])).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(await router(["nothing-like-it", "--json"])).toEqual({ code: 0, stdout: '{"data":[]}\n', stderr: "" });
    const behind = await router(["--json", "id,name"]);
    expect(behind).toMatchObject({ code: 0, stdout: '{"data":[]}\n' });
    expect(behind.stderr).toMatch(/^note: no model matches "id,name", because --json takes no value .*\n$/);
    expect(await router([], { body: entries([]) })).toEqual({
      code: 0,
      stdout: "",
      stderr: "note: the catalog is empty\n",
    });
  });

  it("shows only an entry's own prices, whatever their names are", async () => {
    const body =
      '{"data":[{"id":"a","pricing":{"constructor":"1","__proto__":"2"}},{"id":"b","pricing":{"prompt":"1e-6"}},{"__proto__":{"id":"c"}}]}';
    const fields = "id,pricing.constructor,pricing.__proto__,pricing.toString";
    expect((await router(["--fields", fields.replace(/,[^,]*$/, "")], { body })).stdout).toBe("a\t1\t2\nb\t\t\n\t\t\n");
    expect((await router(["--sort", "pricing.constructor", "--fields", "id"], { body })).stdout).toBe("a\nb\n\n");
    expect((await router(["--max-price", "constructor=1", "--fields", "id"], { body })).stdout).toBe("a\n");
    expect((await router(["--fields", fields], { body })).code).toBe(2);
  });

  it("marks a deprecation date that is past or within 30 days", async () => {
    const day = (days: number) => new Date(nowHere + days * 86_400_000).toISOString().slice(0, 10);
    const body = entries([-1, 1, 29, 32].map((days) => ({ id: `${days}`, deprecation_date: day(days) })));
    const { stdout } = await router(["-o", "table", "--fields", "deprecation_date"], { body });
    expect(stdout.split("\n").slice(1, -1)).toEqual([`${day(-1)} past`, `${day(1)} soon`, `${day(29)} soon`, day(32)]);
  });

  it("shows a price per token as the exact price per million tokens, and an invalid one as given", async () => {
    const prices = [
      ["3e-7", "0.3"],
      ["1e-7", "0.1"],
      ["0.000000123456789123456789", "0.123456789123456789"],
      ["0", "0"],
      ["0.0", "0"],
      ["12", "12000000"],
      ["", ""],
      ["free", "free"],
      ["-1", "-1 (as given)"],
      ["+0.1", "+0.1 (as given)"],
      ["0,1", "0,1 (as given)"],
      ["1e999", "1e999 (as given)"],
      ["NaN", "NaN"],
      [null, ""],
      [undefined, ""],
      [0.0000003, "0.3"],
      [["1"], "1 (as given)"],
    ] as const;
    const body = entries(prices.map(([prompt], at) => ({ id: `${at}`, pricing: { prompt } })));
    const { stdout } = await router(["--fields", "pricing.prompt"], { body });
    expect(stdout.split("\n").slice(0, -1)).toEqual(prices.map(([, shown]) => shown));
  });

  it.each([
    [["--sort", "pricing.propmt"], "pricing.prompt"],
    [["--fields", "id,quantisation"], "quantization"],
  ])("suggests a column for %j", async (args, near) => {
    const { code, stderr } = await router(args);
    expect(code).toBe(2);
    expect(stderr).toContain(`hint: did you mean ${near}?`);
  });

  it("exits with 2 before any request for an unknown column", async () => {
    const { code, stderr } = await runRollcall(["catalog", "router", "--sort", "-contex_length"]);
    expect(code).toBe(2);
    expect(stderr).toContain("hint: did you mean -context_length?");
  });
});
